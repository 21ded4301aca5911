// Statics and constants.
use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);
static TABLE: [u16; 5] = [3, 1, 4, 1, 5];
const SCALE: u32 = 10;

fn look(index: usize) -> u32 {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    let entry = TABLE[index % TABLE.len()] as u32;
    entry * SCALE + calls
}

fn main() {
    let mut sum = 0;
    for i in 0..7 {
        let value = look(i);
        sum += value;
    }
    println!("{sum}");
}

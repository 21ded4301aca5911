// A counter that nobody needs after its loop.
fn main() {
    let mut seen = 0u32;
    let mut index = 0usize;
    let data = [1u32, 2, 4, 8];
    while index < data.len() {
        seen |= data[index];
        index += 1;
    }
    let mut spare = 0;
    for _ in 0..5 {
        spare += 3;
    }
    println!("{seen}");
}

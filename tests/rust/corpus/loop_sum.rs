// A counted loop with an accumulator.
fn main() {
    let mut sum = 0u64;
    let mut i = 0u64;
    while i < 12 {
        sum += i * i;
        i += 1;
    }
    let half = sum / 2;
    println!("{sum} {half}");
}

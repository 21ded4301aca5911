// Counting and mixing bits.
fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 29;
    x
}

fn main() {
    let mut seed = 42u64;
    let mut ones = 0;
    let mut zeros = 0;
    for _ in 0..4 {
        seed = mix(seed);
        ones += seed.count_ones();
        zeros += seed.leading_zeros();
    }
    let parity = ones % 2 == 0;
    println!("{seed} {ones} {zeros} {parity}");
}

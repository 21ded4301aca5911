// Arithmetic that wraps.
fn main() {
    let mut state = 0x9e37_79b9u32;
    let mut small = 250u8;
    let mut sums = 0u16;
    for round in 0..6u32 {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        small = small.wrapping_add(round as u8 * 3);
        let mixed = state.rotate_left(round) ^ small as u32;
        sums = sums.wrapping_sub(mixed as u16);
    }
    println!("{state} {small} {sums}");
}

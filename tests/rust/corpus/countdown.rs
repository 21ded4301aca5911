// A counter that goes down, by steps.
fn main() {
    let mut left = 40i16;
    let mut taken = 0u8;
    while left > 0 {
        let step = if left % 2 == 0 { 3 } else { 5 };
        left -= step;
        taken += 1;
    }
    println!("{left} {taken}");
}

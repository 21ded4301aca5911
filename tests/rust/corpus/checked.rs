// Arithmetic that says when it overflows.
fn grow(start: i32, factor: i32) -> (i32, u32) {
    let mut value = start;
    let mut rounds = 0;
    while let Some(next) = value.checked_mul(factor) {
        value = next;
        rounds += 1;
        if rounds == 20 {
            break;
        }
    }
    (value, rounds)
}

fn main() {
    let (value, rounds) = grow(7, 11);
    let (clamped, carried) = value.overflowing_add(i32::MAX);
    let saturated = value.saturating_add(i32::MAX);
    println!("{value} {rounds} {clamped} {carried} {saturated}");
}

// A reference to a reference, moved along.
fn main() {
    let numbers = [5u8, 6, 7, 8];
    let mut at = &numbers[0];
    let mut sum = 0u32;
    for number in &numbers {
        let seen = &at;
        sum += **seen as u32 * 10 + *number as u32;
        at = number;
    }
    let last = *at;
    println!("{sum} {last}");
}

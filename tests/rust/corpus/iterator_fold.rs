// fold with a closure that has statements.
fn main() {
    let words = ["one", "three", "eleven"];
    let total = words.iter().fold(0usize, |sum, word| {
        let length = word.len();
        sum * 7 + length
    });
    let again = words.iter().rev().fold(1usize, |product, word| {
        let factor = word.len() + 1;
        product * factor
    });
    println!("{total} {again}");
}

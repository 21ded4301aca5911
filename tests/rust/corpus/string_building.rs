// Strings that grow.
fn main() {
    let mut text = String::new();
    let mut length = 0;
    for n in 0..5 {
        let piece = if n % 2 == 0 { "ab" } else { "xyz" };
        text.push_str(piece);
        length += piece.len();
    }
    let back: String = text.chars().rev().collect();
    let first = back.as_bytes()[0];
    println!("{text} {back} {length} {first}");
}

// Parsing by hand.
fn number(text: &str) -> Result<u32, char> {
    let mut value = 0u32;
    for c in text.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                value = value * 10 + digit;
            }
            None => {
                return Err(c);
            }
        }
    }
    Ok(value)
}

fn main() {
    let good = number("4711");
    let bad = number("12x4");
    println!("{good:?} {bad:?}");
}

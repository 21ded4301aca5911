// A byte buffer changed in place.
fn shift(text: &mut [u8], by: u8) -> u32 {
    let mut changed = 0;
    for byte in text.iter_mut() {
        if byte.is_ascii_lowercase() {
            let place = *byte - b'a';
            *byte = b'a' + (place + by) % 26;
            changed += 1;
        }
    }
    changed
}

fn main() {
    let mut text = *b"hello, world";
    let there = shift(&mut text, 3);
    let back = shift(&mut text, 23);
    println!("{there} {back} {}", text[0] as char);
}

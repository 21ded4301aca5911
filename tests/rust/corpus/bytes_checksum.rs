// Bytes of a string.
fn adler(data: &[u8]) -> u32 {
    let mut a = 1u32;
    let mut b = 0u32;
    for byte in data {
        a = (a + *byte as u32) % 65521;
        b = (b + a) % 65521;
    }
    b << 16 | a
}

fn main() {
    let text = "Wikipedia";
    let sum = adler(text.as_bytes());
    println!("{sum:x}");
}

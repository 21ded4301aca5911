// Characters, one by one.
fn main() {
    let text = "The Quick, brown fox";
    let mut upper = 0;
    let mut vowels = 0u8;
    let mut last = ' ';
    for c in text.chars() {
        if c.is_ascii_uppercase() {
            upper += 1;
        }
        if matches!(c, 'a' | 'e' | 'i' | 'o' | 'u') {
            vowels += 1;
        }
        last = c;
    }
    let shifted = (last as u8 + 1) as char;
    println!("{upper} {vowels} {last} {shifted}");
}

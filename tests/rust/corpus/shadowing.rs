// One name, many variables.
fn main() {
    let value = 5;
    let value = value * 3;
    let value = {
        let value = value + 1;
        let value = value as u64 * 2;
        value - 1
    };
    let text = "17";
    let text = text.len() as u64 + value;
    println!("{value} {text}");
}

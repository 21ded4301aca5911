// Words of a line.
fn main() {
    let line = "alpha beta gamma delta";
    let mut longest = "";
    let mut count = 0;
    for word in line.split(' ') {
        count += 1;
        if word.len() > longest.len() {
            longest = word;
        }
    }
    let middle = &line[6..10];
    println!("{longest} {count} {middle}");
}

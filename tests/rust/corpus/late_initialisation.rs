// A name that gets its value later, on every path.
fn main() {
    let mut all = 0;
    for n in 0..4 {
        let kind;
        if n % 2 == 0 {
            kind = 'e';
            all += 1;
        } else {
            kind = 'o';
            all += 10;
        }
        println!("{n} {kind}");
    }
    println!("{all}");
}

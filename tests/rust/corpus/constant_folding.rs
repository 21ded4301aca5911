// Everything known to the compiler.
fn main() {
    let a = 6;
    let b = a * 7;
    let mut c = b - 2;
    c += a;
    let d = c % 5 == 1;
    let e = if d { b } else { a };
    println!("{e}");
}

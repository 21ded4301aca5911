mod gcd;

fn main() {
    let first: i64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(240);
    let (divisor, s, t) = gcd::extended(first, 46);
    println!("{divisor} {s} {t}");
}

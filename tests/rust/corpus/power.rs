// Exponents by squaring, with a modulus.
fn power(mut base: u64, mut exponent: u32, modulus: u64) -> u64 {
    let mut result = 1;
    base %= modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        exponent >>= 1;
        base = base * base % modulus;
    }
    result
}

fn main() {
    let a = power(3, 200, 1000007);
    let b = power(2, 10, 2000);
    println!("{a} {b}");
}

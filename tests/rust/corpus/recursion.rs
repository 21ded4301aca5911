// Functions that call themselves and each other.
fn ackermann(m: u32, n: u32) -> u32 {
    if m == 0 {
        return n + 1;
    }
    if n == 0 {
        return ackermann(m - 1, 1);
    }
    let inner = ackermann(m, n - 1);
    ackermann(m - 1, inner)
}

fn is_even(n: u32) -> bool {
    n == 0 || is_odd(n - 1)
}

fn is_odd(n: u32) -> bool {
    n != 0 && is_even(n - 1)
}

fn main() {
    let value = ackermann(2, 2);
    let even = is_even(value);
    println!("{value} {even}");
}

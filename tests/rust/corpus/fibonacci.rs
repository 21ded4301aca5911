// Two numbers that chase each other.
fn main() {
    let (mut a, mut b) = (0u64, 1u64);
    let mut n = 0;
    while b < 1000 {
        let next = a + b;
        a = b;
        b = next;
        n += 1;
    }
    println!("{a} {b} {n}");
}

// Tuples in and out of functions.
fn split(n: u32) -> (u8, u16, bool) {
    let low = n as u8;
    let high = (n >> 8) as u16;
    (low, high, n % 2 == 1)
}

fn main() {
    let a = split(70000);
    let (low, high, odd) = split(513);
    let swapped = (a.1, (a.0, low), high);
    println!("{a:?} {low} {high} {odd} {swapped:?}");
}

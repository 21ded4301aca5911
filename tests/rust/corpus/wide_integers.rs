// 128 bits.
fn main() {
    let mut product = 1u128;
    let mut sum = 0i128;
    for n in 1..30u128 {
        product *= n;
        sum -= n as i128 * 3;
    }
    let high = (product >> 64) as u64;
    let low = product as u64;
    println!("{product} {sum} {high} {low}");
}

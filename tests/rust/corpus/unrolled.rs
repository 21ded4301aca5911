// A short loop that is unrolled.
fn main() {
    let weights = [7i32, 3, 9];
    let mut sum = 0;
    let mut product = 1;
    for i in 0..3 {
        let weight = weights[i];
        sum += weight * (i as i32 + 1);
        product *= weight;
    }
    println!("{sum} {product}");
}

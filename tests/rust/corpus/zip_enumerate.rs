// Pairs of two slices with their numbers.
fn dot(a: &[i32], b: &[i32]) -> i32 {
    let mut sum = 0;
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        let term = x * y;
        sum += term + i as i32;
    }
    sum
}

fn main() {
    let a = [1, 2, 3, 4];
    let b = [9, 8, 7, 6];
    let result = dot(&a, &b[1..]);
    println!("{result}");
}

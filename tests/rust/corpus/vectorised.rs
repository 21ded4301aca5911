// Loops that are turned into vector code.
fn main() {
    let mut a = [0i32; 32];
    let mut b = [0i32; 32];
    for i in 0..32 {
        a[i] = i as i32 * 3 - 7;
    }
    for i in 0..32 {
        b[i] = a[i] * 2 + 1;
    }
    let mut sum = 0;
    for value in b {
        sum += value;
    }
    let first = b[0];
    let last = b[31];
    println!("{sum} {first} {last}");
}

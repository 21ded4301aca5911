// Ranges by step and in reverse.
fn main() {
    let mut up = Vec::new();
    for n in (3..40).step_by(7) {
        let doubled = n * 2;
        up.push(doubled);
    }
    let mut folded = 0i64;
    for n in (0..up.len()).rev() {
        folded = folded * 10 + up[n] as i64 % 10;
    }
    println!("{up:?} {folded}");
}

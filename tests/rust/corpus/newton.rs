// A square root by iteration.
fn root(of: f64) -> (f64, u32) {
    let mut guess = of / 2.0;
    let mut rounds = 0;
    loop {
        let next = (guess + of / guess) / 2.0;
        rounds += 1;
        if (next - guess).abs() < 1e-9 || rounds > 30 {
            break;
        }
        guess = next;
    }
    (guess, rounds)
}

fn main() {
    let (two, rounds) = root(2.0);
    let scaled = (two * 1e6) as u32;
    println!("{scaled} {rounds}");
}

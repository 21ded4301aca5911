// Floating point, with an exact end.
fn main() {
    let mut x = 1.0f64;
    let mut y = 0.5f32;
    let mut steps = 0;
    while x < 100.0 {
        x = x * 1.5 + 0.25;
        y = y / 2.0 + 1.0;
        steps += 1;
    }
    let rounded = x as i32;
    let small = y as f64;
    println!("{x} {y} {steps} {rounded} {small}");
}

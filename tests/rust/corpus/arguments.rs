// Many parameters, some in memory.
#[inline(never)]
fn many(a: u8, b: i16, c: u32, d: i64, e: u128, f: f32, g: f64, h: bool, i: char, j: (i32, i32)) -> i64 {
    let small = a as i64 + b as i64 + c as i64;
    let large = d + e as i64 + j.0 as i64 - j.1 as i64;
    let real = (f as f64 * g) as i64;
    let rest = h as i64 + i as i64;
    small + large + real + rest
}

fn main() {
    let first = many(1, -2, 3, -4, 5, 6.5, 7.25, true, 'x', (8, -9));
    let second = many(200, 300, 70000, first, 1 << 70, -0.5, 2.0, false, '\u{e9}', (first as i32, 1));
    println!("{first} {second}");
}

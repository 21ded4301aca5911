// Every width, signed and not, and what casts do to them.
fn main() {
    let wide = -123_456_789i64;
    let a = wide as i32;
    let b = wide as i16;
    let c = wide as i8;
    let d = wide as u32;
    let e = wide as u16;
    let f = wide as u8;
    let g = c as i64 + d as i64;
    let h = (e as u32) << 3 | f as u32;
    println!("{a} {b} {c} {d} {e} {f} {g} {h}");
}

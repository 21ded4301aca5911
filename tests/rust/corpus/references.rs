// References to locals, fields and elements.
fn raise(target: &mut u32, by: &u32) -> u32 {
    let before = *target;
    *target += *by;
    before
}

fn main() {
    let mut a = 1u32;
    let mut pair = (10u32, 20u32);
    let mut row = [100u32; 3];
    let step = 7;
    let x = raise(&mut a, &step);
    let y = raise(&mut pair.1, &a);
    let z = raise(&mut row[2], &pair.1);
    let longest = if a > pair.1 { &a } else { &pair.1 };
    println!("{x} {y} {z} {longest} {a} {pair:?} {row:?}");
}

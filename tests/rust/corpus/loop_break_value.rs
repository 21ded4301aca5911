// `loop` as an expression.
fn first_above(limit: i32) -> i32 {
    let mut n = 1;
    let found = loop {
        n = n * 3 + 1;
        if n > limit {
            break n - limit;
        }
    };
    println!("{n}");
    found
}

fn main() {
    let a = first_above(100);
    let b = first_above(7);
    println!("{a} {b}");
}

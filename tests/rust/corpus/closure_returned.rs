// Closures as values that outlive their function.
fn adder(by: i32) -> impl Fn(i32) -> i32 {
    let twice = by * 2;
    move |x| {
        let sum = x + twice;
        sum - by
    }
}

fn apply<F: Fn(i32) -> i32>(f: F, times: u32) -> i32 {
    let mut value = 1;
    for _ in 0..times {
        value = f(value);
    }
    value
}

fn main() {
    let five = adder(5);
    let result = apply(five, 4);
    let other = apply(adder(-2), 3);
    println!("{result} {other}");
}

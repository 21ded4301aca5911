// Closures that capture by reference, by mutable reference and by value.
fn main() {
    let base = 100;
    let factor = 3u64;
    let mut log = 0u64;
    let scale = |x: u64| {
        let scaled = x * factor;
        scaled + base
    };
    let mut note = |x: u64| {
        log = log * 31 + x;
        log
    };
    let first = note(scale(1));
    let second = note(scale(2));
    let fixed = move |x: u64| {
        let all = base + factor + x;
        all
    };
    let third = fixed(second);
    println!("{first} {second} {third}");
}

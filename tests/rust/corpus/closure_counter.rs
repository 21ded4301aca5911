// A closure that counts its calls, as in Figure 10 of paper 000, written anew: the counter is right today.
fn run(times: u32) -> u32 {
    let mut counter = 0u32;
    let mut step = || {
        counter += 1;
        counter
    };
    let mut last = 0;
    for _ in 0..times {
        last = step();
    }
    println!("{last}");
    counter
}

fn main() {
    let total = run(2);
    println!("{total}");
}

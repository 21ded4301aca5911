// Arms with guards, ranges and bindings.
fn classify(n: i32) -> i32 {
    let kind = match n {
        0 => 0,
        low @ 1..=9 if low % 2 == 1 => {
            let odd = low * 10;
            odd
        }
        low @ 1..=9 => {
            let even = low * 100;
            even
        }
        high if high > 1000 => 3,
        _ => 4,
    };
    kind
}

fn main() {
    let mut all = 0;
    for n in [0, 3, 8, 50, 5000] {
        let kind = classify(n);
        all = all * 7 + kind;
    }
    println!("{all}");
}

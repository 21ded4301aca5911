// Statements in a macro are no points; those around its calls are.
macro_rules! clamp {
    ($value:expr, $high:expr) => {{
        let high = $high;
        let value = $value;
        if value > high { high } else { value }
    }};
}

fn main() {
    let mut sum = 0;
    for n in 0..6 {
        let limited = clamp!(n * 3, 9);
        sum += limited;
    }
    let list = vec![sum, sum + 1];
    println!("{list:?}");
}

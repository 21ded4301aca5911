// Slices taken apart.
fn sum(values: &[i64]) -> i64 {
    match values {
        [] => 0,
        [one] => *one,
        [first, .., last] => {
            let ends = first + last;
            let inner = sum(&values[1..values.len() - 1]);
            ends + inner
        }
    }
}

fn main() {
    let values = [1, 20, 300, 4000, 50000];
    let all = sum(&values);
    let some = sum(&values[1..3]);
    println!("{all} {some}");
}

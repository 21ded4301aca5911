// if let, while let and let else.
fn last_even(values: &[i32]) -> i32 {
    let mut rest = values;
    let mut found = -1;
    while let [first, others @ ..] = rest {
        if let 0 = first % 2 {
            found = *first;
        }
        rest = others;
    }
    found
}

fn main() {
    let values = [3, 8, 5, 12, 7];
    let even = last_even(&values);
    let Some(index) = values.iter().position(|v| *v == even) else {
        return;
    };
    println!("{even} {index}");
}

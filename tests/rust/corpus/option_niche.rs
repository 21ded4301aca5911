// Options that need no tag of their own.
fn pick(numbers: &[u64], index: usize) -> Option<&u64> {
    let found = numbers.get(index);
    found
}

fn main() {
    let numbers = [100u64, 200, 300];
    let here = pick(&numbers, 1);
    let there = pick(&numbers, 7);
    let flag = here.map(|n| *n > 150);
    let letter = char::from_digit(7, 10);
    println!("{here:?} {there:?} {flag:?} {letter:?}");
}

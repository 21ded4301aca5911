// Adapters that the optimiser turns into one loop.
fn main() {
    let numbers = [4, 8, 15, 16, 23, 42];
    let even: i32 = numbers.iter().filter(|n| **n % 2 == 0).map(|n| n * 3).sum();
    let longest = numbers.iter().copied().max().unwrap_or(0);
    let position = numbers.iter().position(|n| *n == 23);
    println!("{even} {longest} {position:?}");
}

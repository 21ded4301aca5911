// A vector as a stack.
fn main() {
    let mut stack: Vec<i32> = Vec::new();
    let mut popped = 0;
    for n in 1..=6 {
        stack.push(n * n);
        if n % 3 == 0 {
            if let Some(top) = stack.pop() {
                popped += top;
            }
        }
    }
    let height = stack.len();
    println!("{stack:?} {popped} {height}");
}

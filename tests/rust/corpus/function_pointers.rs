// Functions in a table.
fn add(a: i32, b: i32) -> i32 {
    let sum = a + b;
    sum
}

fn sub(a: i32, b: i32) -> i32 {
    let difference = a - b;
    difference
}

fn main() {
    let table: [fn(i32, i32) -> i32; 3] = [add, sub, add];
    let mut value = 10;
    for (i, f) in table.iter().enumerate() {
        let operand = i as i32 * 4 + 1;
        value = f(value, operand);
    }
    println!("{value}");
}

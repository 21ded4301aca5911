// Errors with `?`.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    TooSmall(i32),
    TooLarge { value: i32, limit: i32 },
}

fn check(value: i32) -> Result<i32, Trouble> {
    if value < 10 {
        return Err(Trouble::TooSmall(value));
    }
    let limit = 50;
    if value > limit {
        return Err(Trouble::TooLarge { value, limit });
    }
    Ok(value * 2)
}

fn both(a: i32, b: i32) -> Result<i32, Trouble> {
    let first = check(a)?;
    let second = check(b)?;
    Ok(first + second)
}

fn main() {
    let fine = both(20, 30);
    let small = both(20, 3);
    let large = both(99, 30);
    println!("{fine:?} {small:?} {large:?}");
}

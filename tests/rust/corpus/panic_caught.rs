// A panic that is caught.
fn divide(a: i32, b: i32) -> i32 {
    let quotient = a.checked_div(b);
    match quotient {
        Some(value) => value,
        None => {
            let code = a * 10;
            std::panic::panic_any(code);
        }
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let fine = divide(84, 2);
    let caught = std::panic::catch_unwind(|| divide(7, 0));
    let code = match caught {
        Ok(value) => value,
        Err(payload) => *payload.downcast::<i32>().unwrap_or(Box::new(-1)),
    };
    println!("{fine} {code}");
}

// Blocks, ifs and matches as expressions.
fn main() {
    let a = {
        let x = 6;
        let y = 7;
        x * y
    };
    let b = if a > 40 {
        let over = a - 40;
        over * 1000
    } else {
        0
    };
    let c = match b / 1000 {
        0 => -1,
        n => {
            let cube = n * n * n;
            cube
        }
    };
    println!("{a} {b} {c}");
}

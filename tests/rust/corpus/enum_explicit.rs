// Discriminants chosen by hand.
#[repr(u8)]
#[derive(Clone, Copy)]
enum Op {
    Push(i16) = 10,
    Add = 20,
    Mul = 30,
}

fn main() {
    let code = [Op::Push(6), Op::Push(7), Op::Mul, Op::Push(-2), Op::Add];
    let mut stack = [0i16; 8];
    let mut top = 0;
    for op in code {
        match op {
            Op::Push(value) => {
                stack[top] = value;
                top += 1;
            }
            Op::Add => {
                let sum = stack[top - 1] + stack[top - 2];
                top -= 1;
                stack[top - 1] = sum;
            }
            Op::Mul => {
                let product = stack[top - 1] * stack[top - 2];
                top -= 1;
                stack[top - 1] = product;
            }
        }
    }
    let result = stack[0];
    println!("{result} {top}");
}

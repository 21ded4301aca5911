// Raw pointers: candor says that it does not judge `unsafe` code.
fn main() {
    let mut numbers = [1u32, 2, 3, 4];
    let start = numbers.as_mut_ptr();
    let mut sum = 0;
    for i in 0..4 {
        let value = unsafe {
            let at = start.add(i);
            *at *= 10;
            *at
        };
        sum += value;
    }
    println!("{sum} {numbers:?}");
}

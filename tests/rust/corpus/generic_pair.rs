// A generic structure used with three types.
#[derive(Clone, Copy)]
struct Pair<T> {
    left: T,
    right: T,
}

impl<T: Copy + PartialOrd> Pair<T> {
    fn larger(&self) -> T {
        let left = self.left;
        let right = self.right;
        if left > right { left } else { right }
    }
}

fn main() {
    let numbers = Pair { left: 3i32, right: 9 };
    let letters = Pair { left: 'q', right: 'c' };
    let bytes = Pair { left: 200u8, right: 100 };
    let a = numbers.larger();
    let b = letters.larger();
    let c = bytes.larger();
    println!("{a} {b} {c}");
}

// A generic function with a trait of its own.
trait Weight {
    fn weight(&self) -> u64;
}

impl Weight for u8 {
    fn weight(&self) -> u64 {
        let own = *self as u64;
        own * 2
    }
}

impl Weight for i64 {
    fn weight(&self) -> u64 {
        let own = self.unsigned_abs();
        own + 1
    }
}

fn total<W: Weight>(items: &[W]) -> u64 {
    let mut sum = 0;
    for item in items {
        let weight = item.weight();
        sum += weight;
    }
    sum
}

fn main() {
    let small = total(&[1u8, 2, 3]);
    let large = total(&[-5i64, 70]);
    println!("{small} {large}");
}

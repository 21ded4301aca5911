// Methods by value, by reference and by mutable reference.
#[derive(Clone, Copy)]
struct Counter {
    value: u32,
    step: u32,
}

impl Counter {
    fn new(step: u32) -> Self {
        Counter { value: 0, step }
    }
    fn tick(&mut self) -> u32 {
        self.value += self.step;
        self.value
    }
    fn ahead(&self, ticks: u32) -> u32 {
        let far = self.value + self.step * ticks;
        far
    }
    fn doubled(self) -> Self {
        let step = self.step * 2;
        Counter { step, ..self }
    }
}

fn main() {
    let mut counter = Counter::new(3);
    let first = counter.tick();
    let second = counter.tick();
    let mut fast = counter.doubled();
    let third = fast.tick();
    let far = fast.ahead(10);
    println!("{first} {second} {third} {far}");
}

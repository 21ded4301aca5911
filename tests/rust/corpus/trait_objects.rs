// Dynamic dispatch.
trait Animal {
    fn legs(&self) -> u32;
    fn name(&self) -> &'static str {
        "animal"
    }
}

struct Bird;
struct Spider {
    lost: u32,
}

impl Animal for Bird {
    fn legs(&self) -> u32 {
        2
    }
    fn name(&self) -> &'static str {
        "bird"
    }
}

impl Animal for Spider {
    fn legs(&self) -> u32 {
        let left = 8 - self.lost;
        left
    }
}

fn main() {
    let spider = Spider { lost: 3 };
    let all: [&dyn Animal; 2] = [&Bird, &spider];
    let mut legs = 0;
    let mut letters = 0;
    for animal in all {
        let own = animal.legs();
        legs += own;
        letters += animal.name().len();
    }
    println!("{legs} {letters}");
}

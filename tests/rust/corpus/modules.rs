// Functions in modules, with a type that another module changes.
mod shapes {
    #[derive(Clone, Copy)]
    pub struct Square {
        pub side: u32,
    }

    pub mod growth {
        use super::Square;

        pub fn doubled(square: Square) -> Square {
            let side = square.side * 2;
            Square { side }
        }
    }

    impl Square {
        pub fn area(&self) -> u32 {
            let area = self.side * self.side;
            area
        }
    }
}

fn main() {
    let small = shapes::Square { side: 3 };
    let large = shapes::growth::doubled(small);
    let area = large.area();
    println!("{area}");
}

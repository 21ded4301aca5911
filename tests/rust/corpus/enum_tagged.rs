// An enumeration with data of different sizes.
#[derive(Clone, Copy)]
enum Shape {
    Circle(i32),
    Rect { width: i32, height: i64 },
    Dot,
}

fn area(shape: Shape) -> i64 {
    match shape {
        Shape::Circle(radius) => {
            let squared = radius as i64 * radius as i64;
            squared * 3
        }
        Shape::Rect { width, height } => {
            let product = width as i64 * height;
            product
        }
        Shape::Dot => 0,
    }
}

fn main() {
    let shapes = [Shape::Circle(4), Shape::Dot, Shape::Rect { width: 3, height: 7 }];
    let mut total = 0;
    for shape in shapes {
        let one = area(shape);
        total += one;
    }
    println!("{total}");
}

// Structures in structures, by value.
#[derive(Clone, Copy)]
struct Point {
    x: i16,
    y: i16,
}

#[derive(Clone, Copy)]
struct Frame {
    low: Point,
    high: Point,
    label: char,
}

fn grow(frame: Frame, by: i16) -> Frame {
    let low = Point { x: frame.low.x - by, y: frame.low.y - by };
    let high = Point { x: frame.high.x + by, ..frame.high };
    Frame { low, high, label: frame.label }
}

fn main() {
    let start = Frame { low: Point { x: 1, y: 2 }, high: Point { x: 8, y: 9 }, label: 'f' };
    let grown = grow(start, 3);
    let again = grow(grown, grown.high.x);
    println!("{} {} {} {} {}", again.low.x, again.low.y, again.high.x, again.high.y, again.label);
}

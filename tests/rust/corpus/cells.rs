// Values that change behind shared references.
use std::cell::{Cell, RefCell};

fn bump(cell: &Cell<i32>, log: &RefCell<Vec<i32>>) {
    let before = cell.get();
    cell.set(before * 2 + 1);
    log.borrow_mut().push(before);
}

fn main() {
    let cell = Cell::new(3);
    let log = RefCell::new(Vec::new());
    for _ in 0..4 {
        bump(&cell, &log);
    }
    let last = cell.get();
    let count = log.borrow().len();
    println!("{last} {count}");
}

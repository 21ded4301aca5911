// Structures in a vector, changed through references.
#[derive(Debug)]
struct Item {
    price: u32,
    count: u16,
}

fn main() {
    let mut items = vec![Item { price: 5, count: 2 }, Item { price: 30, count: 1 }, Item { price: 7, count: 9 }];
    let mut total = 0;
    for item in &mut items {
        let cost = item.price * item.count as u32;
        total += cost;
        if cost > 20 {
            item.count -= 1;
        }
    }
    let cheapest = items.iter().map(|item| item.price).min();
    println!("{total} {cheapest:?} {items:?}");
}

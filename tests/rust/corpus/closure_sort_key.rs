// Closures as arguments of library functions.
fn main() {
    let mut items = [(3, 'c'), (1, 'z'), (2, 'm')];
    items.sort_by_key(|item| {
        let key = item.1;
        key
    });
    let first = items[0];
    items.sort_by(|a, b| {
        let order = b.0.cmp(&a.0);
        order
    });
    let top = items[0];
    println!("{first:?} {top:?}");
}

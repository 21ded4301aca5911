// A list on the heap.
enum List {
    End,
    Node(i32, Box<List>),
}

fn sum(list: &List) -> i32 {
    let mut total = 0;
    let mut at = list;
    while let List::Node(value, rest) = at {
        total += *value;
        at = rest;
    }
    total
}

fn main() {
    let mut list = List::End;
    for n in 1..5 {
        let value = n * 11;
        list = List::Node(value, Box::new(list));
    }
    let total = sum(&list);
    println!("{total}");
}

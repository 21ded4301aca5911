// Bounds that close in.
fn find(sorted: &[u32], wanted: u32) -> Option<usize> {
    let mut low = 0;
    let mut high = sorted.len();
    while low < high {
        let middle = low + (high - low) / 2;
        let found = sorted[middle];
        if found == wanted {
            return Some(middle);
        }
        if found < wanted {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    None
}

fn main() {
    let sorted = [2, 3, 5, 7, 11, 13, 17];
    let here = find(&sorted, 11);
    let nowhere = find(&sorted, 4);
    println!("{here:?} {nowhere:?}");
}

// Two counters, one inside the other, with a labelled break.
fn main() {
    let mut hits = 0;
    let mut last = (0, 0);
    'outer: for row in 0..9i32 {
        for column in 0..9i32 {
            let product = row * column;
            if product == 42 {
                break 'outer;
            }
            if product % 5 == 3 {
                hits += 1;
                last = (row, column);
            }
        }
    }
    println!("{hits} {last:?}");
}

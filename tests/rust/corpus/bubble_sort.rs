// Sorting in place.
fn main() {
    let mut a = [5i8, -3, 9, 0, -7, 2];
    let mut swaps = 0;
    for end in (1..a.len()).rev() {
        for i in 0..end {
            if a[i] > a[i + 1] {
                let kept = a[i];
                a[i] = a[i + 1];
                a[i + 1] = kept;
                swaps += 1;
            }
        }
    }
    println!("{swaps} {a:?}");
}

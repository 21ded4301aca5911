// Two indices that meet.
fn reverse(a: &mut [u16]) -> usize {
    let mut swaps = 0;
    let (mut low, mut high) = (0, a.len() - 1);
    while low < high {
        a.swap(low, high);
        swaps += 1;
        low += 1;
        high -= 1;
    }
    swaps
}

fn main() {
    let mut a = [10u16, 20, 30, 40, 50];
    let swaps = reverse(&mut a);
    println!("{swaps} {a:?}");
}

// Slices of slices.
fn main() {
    let data = [3u32, 1, 4, 1, 5, 9, 2, 6, 5];
    let mut rising = 0;
    for pair in data.windows(2) {
        let step = pair[1] as i32 - pair[0] as i32;
        if step > 0 {
            rising += step;
        }
    }
    let mut sums = [0u32; 3];
    for (slot, chunk) in sums.iter_mut().zip(data.chunks(3)) {
        let sum = chunk.iter().sum::<u32>();
        *slot = sum;
    }
    println!("{rising} {sums:?}");
}

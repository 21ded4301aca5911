// Primes below fifty.
fn main() {
    let mut composite = [false; 50];
    let mut count = 0;
    let mut last = 0;
    for n in 2..50usize {
        if composite[n] {
            continue;
        }
        count += 1;
        last = n;
        let mut multiple = n * n;
        while multiple < 50 {
            composite[multiple] = true;
            multiple += n;
        }
    }
    println!("{count} {last}");
}

// An induction variable that is only used times something.
fn main() {
    let mut checksum = 0u64;
    let mut i = 3u64;
    while i < 60 {
        let scaled = i * 24;
        checksum ^= scaled << (i % 7);
        i += 4;
    }
    println!("{checksum}");
}

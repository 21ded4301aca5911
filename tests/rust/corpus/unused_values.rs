// Values that are computed and not used.
fn waste(n: u32) -> u32 {
    let unused = n * 17 + 4;
    let kept = n ^ 5;
    let also_unused = unused as u64 + kept as u64;
    let _ = also_unused;
    kept
}

fn main() {
    let a = waste(3);
    let b = waste(a);
    println!("{b}");
}

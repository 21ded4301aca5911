// Options through combinators.
fn half(n: i32) -> Option<i32> {
    if n % 2 == 0 { Some(n / 2) } else { None }
}

fn main() {
    let twice = half(36).and_then(half);
    let lost = half(14).and_then(half);
    let kept = lost.unwrap_or(-1);
    let both = twice.zip(Some(kept));
    println!("{twice:?} {lost:?} {kept} {both:?}");
}

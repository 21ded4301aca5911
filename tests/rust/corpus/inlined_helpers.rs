// Small functions inside others.
#[inline]
fn square(x: i64) -> i64 {
    let result = x * x;
    result
}

#[inline(always)]
fn distance(a: (i64, i64), b: (i64, i64)) -> i64 {
    let dx = a.0 - b.0;
    let dy = a.1 - b.1;
    square(dx) + square(dy)
}

#[inline(never)]
fn nearest(points: &[(i64, i64)], to: (i64, i64)) -> usize {
    let mut best = 0;
    let mut least = i64::MAX;
    for (index, point) in points.iter().enumerate() {
        let far = distance(*point, to);
        if far < least {
            least = far;
            best = index;
        }
    }
    best
}

fn main() {
    let points = [(0, 0), (5, 5), (9, 1)];
    let best = nearest(&points, (6, 4));
    println!("{best}");
}

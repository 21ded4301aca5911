/// Euclid, with the coefficients. rustc (1.95, 1.97) shows `a` and `b` as `r0` and `r1` in release builds.
#[inline(never)]
pub fn extended(a: i64, b: i64) -> (i64, i64, i64) {
    let (mut r0, mut r1) = (a, b);
    let (mut s0, mut s1) = (1, 0);
    let (mut t0, mut t1) = (0, 1);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (s0, s1) = (s1, s0 - quotient * s1);
        (t0, t1) = (t1, t0 - quotient * t1);
    }
    (r0, s0, t0)
}

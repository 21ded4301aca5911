// The same as ../corpus/gcd.rs, for the share of values that are optimised out.
#include <stdio.h>
static long extended(long a, long b, long *s, long *t) {
  long r0 = a, r1 = b;
  long s0 = 1, s1 = 0;
  long t0 = 0, t1 = 1;
  while (r1 != 0) {
    long quotient = r0 / r1;
    long r2 = r0 - quotient * r1;
    long s2 = s0 - quotient * s1;
    long t2 = t0 - quotient * t1;
    r0 = r1; r1 = r2;
    s0 = s1; s1 = s2;
    t0 = t1; t1 = t2;
  }
  *s = s0;
  *t = t0;
  return r0;
}
int main(void) {
  long s, t;
  long divisor = extended(240, 46, &s, &t);
  printf("%ld %ld %ld\n", divisor, s, t);
  return 0;
}

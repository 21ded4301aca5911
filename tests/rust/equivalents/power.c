// The same as ../corpus/power.rs, for the share of values that are optimised out.
#include <stdio.h>
static unsigned long power(unsigned long base, unsigned exponent, unsigned long modulus) {
  unsigned long result = 1;
  base %= modulus;
  while (exponent > 0) {
    if (exponent & 1) {
      result = result * base % modulus;
    }
    exponent >>= 1;
    base = base * base % modulus;
  }
  return result;
}
int main(void) {
  unsigned long a = power(3, 200, 1000007);
  unsigned long b = power(2, 10, 2000);
  printf("%lu %lu\n", a, b);
  return 0;
}

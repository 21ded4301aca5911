// The same as ../corpus/narrow_integers.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  long wide = -123456789L;
  int a = (int)wide;
  short b = (short)wide;
  signed char c = (signed char)wide;
  unsigned d = (unsigned)wide;
  unsigned short e = (unsigned short)wide;
  unsigned char f = (unsigned char)wide;
  long g = (long)c + (long)d;
  unsigned h = (unsigned)e << 3 | f;
  printf("%d %d %d %u %u %u %ld %u\n", a, b, c, d, e, f, g, h);
  return 0;
}

// The same as ../corpus/wrapping.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  unsigned state = 0x9e3779b9u;
  unsigned char small = 250;
  unsigned short sums = 0;
  for (unsigned round = 0; round < 6; round++) {
    state = state * 1664525u + 1013904223u;
    small = (unsigned char)(small + round * 3);
    unsigned mixed = ((state << round) | (state >> ((32 - round) & 31))) ^ small;
    sums = (unsigned short)(sums - mixed);
  }
  printf("%u %u %u\n", state, small, sums);
  return 0;
}

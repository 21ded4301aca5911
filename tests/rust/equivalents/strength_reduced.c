// The same as ../corpus/strength_reduced.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  unsigned long checksum = 0;
  unsigned long i = 3;
  while (i < 60) {
    unsigned long scaled = i * 24;
    checksum ^= scaled << (i % 7);
    i += 4;
  }
  printf("%lu\n", checksum);
  return 0;
}

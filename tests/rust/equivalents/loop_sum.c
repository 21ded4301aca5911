// The same as ../corpus/loop_sum.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  unsigned long sum = 0;
  unsigned long i = 0;
  while (i < 12) {
    sum += i * i;
    i += 1;
  }
  unsigned long half = sum / 2;
  printf("%lu %lu\n", sum, half);
  return 0;
}

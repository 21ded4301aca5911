// The same as ../corpus/countdown.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  short left = 40;
  unsigned char taken = 0;
  while (left > 0) {
    short step = left % 2 == 0 ? 3 : 5;
    left -= step;
    taken += 1;
  }
  printf("%d %d\n", left, taken);
  return 0;
}

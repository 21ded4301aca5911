// The same as ../corpus/loop_break_value.rs, for the share of values that are optimised out.
#include <stdio.h>
static int first_above(int limit) {
  int n = 1;
  int found;
  for (;;) {
    n = n * 3 + 1;
    if (n > limit) {
      found = n - limit;
      break;
    }
  }
  printf("%d\n", n);
  return found;
}
int main(void) {
  int a = first_above(100);
  int b = first_above(7);
  printf("%d %d\n", a, b);
  return 0;
}

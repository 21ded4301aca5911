// The same as ../corpus/fibonacci.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  unsigned long a = 0, b = 1;
  int n = 0;
  while (b < 1000) {
    unsigned long next = a + b;
    a = b;
    b = next;
    n += 1;
  }
  printf("%lu %lu %d\n", a, b, n);
  return 0;
}

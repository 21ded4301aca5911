// The same as ../corpus/sieve.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  _Bool composite[50] = {0};
  int count = 0;
  unsigned long last = 0;
  for (unsigned long n = 2; n < 50; n++) {
    if (composite[n]) {
      continue;
    }
    count += 1;
    last = n;
    unsigned long multiple = n * n;
    while (multiple < 50) {
      composite[multiple] = 1;
      multiple += n;
    }
  }
  printf("%d %lu\n", count, last);
  return 0;
}

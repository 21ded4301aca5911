// The same as ../corpus/unrolled.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  int weights[3] = {7, 3, 9};
  int sum = 0;
  int product = 1;
  for (unsigned long i = 0; i < 3; i++) {
    int weight = weights[i];
    sum += weight * ((int)i + 1);
    product *= weight;
  }
  printf("%d %d\n", sum, product);
  return 0;
}

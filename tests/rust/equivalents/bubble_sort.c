// The same as ../corpus/bubble_sort.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  signed char a[6] = {5, -3, 9, 0, -7, 2};
  int swaps = 0;
  for (unsigned long end = 5; end >= 1; end--) {
    for (unsigned long i = 0; i < end; i++) {
      if (a[i] > a[i + 1]) {
        signed char kept = a[i];
        a[i] = a[i + 1];
        a[i + 1] = kept;
        swaps += 1;
      }
    }
  }
  for (int i = 0; i < 6; i++) {
    printf("%d ", a[i]);
  }
  printf("%d\n", swaps);
  return 0;
}

// The same as ../corpus/binary_search.rs, for the share of values that are optimised out.
#include <stdio.h>
static long find(const unsigned *sorted, unsigned long length, unsigned wanted) {
  unsigned long low = 0;
  unsigned long high = length;
  while (low < high) {
    unsigned long middle = low + (high - low) / 2;
    unsigned found = sorted[middle];
    if (found == wanted) {
      return (long)middle;
    }
    if (found < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}
int main(void) {
  unsigned sorted[7] = {2, 3, 5, 7, 11, 13, 17};
  long here = find(sorted, 7, 11);
  long nowhere = find(sorted, 7, 4);
  printf("%ld %ld\n", here, nowhere);
  return 0;
}

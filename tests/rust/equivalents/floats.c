// The same as ../corpus/floats.rs, for the share of values that are optimised out.
#include <stdio.h>
int main(void) {
  double x = 1.0;
  float y = 0.5f;
  int steps = 0;
  while (x < 100.0) {
    x = x * 1.5 + 0.25;
    y = y / 2.0f + 1.0f;
    steps += 1;
  }
  int rounded = (int)x;
  double small = y;
  printf("%f %f %d %d %f\n", x, y, steps, rounded, small);
  return 0;
}

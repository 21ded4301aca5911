// builds: gcc-12:-O0 gcc-12:-O2 clang-19:-O2
#include <stdio.h>
#include <stdbool.h>
#define CHECK(x) if (!(x)) { printf("no\n"); }
#define RAISE(x, by) x += by
static volatile int seed = 3;
void main(void) {
  bool ok = seed > 2;
  int sum = 0;
  for (int i = 0; i < seed; i++) {
    RAISE(sum, i);
    CHECK(ok);
  }
  CHECK(sum > 9);
  printf("%d\n", sum);
}

// A function that is called a million times, and a library function a hundred thousand times.
#include <stdlib.h>
static volatile int sink;
__attribute__((noinline)) static int next(int n) {
  sink = n;
  return n + 1;
}
int main(void) {
  int n = 0;
  while (n < 1000000) {
    n = next(n);
    if (n % 10 == 0)
      srand(n);
  }
  return 0;
}

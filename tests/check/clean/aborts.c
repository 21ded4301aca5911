// builds: gcc-12:-O1 clang-19:-O1
// A program that ends by a signal is a test like another: what led there is compared.
#include <stdlib.h>
int steps;
int main(void) {
  for (int i = 0; i < 3; i++) {
    steps += i;
  }
  if (steps == 3)
    abort();
  return 0;
}

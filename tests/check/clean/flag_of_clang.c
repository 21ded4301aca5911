// builds: clang-19:-O0 clang-19:-O2
// flags: -fblocks -DN=3
// notes: gcc-12 does not take -fblocks: it made no reference. To give a flag to one compiler only: --cc 'clang-19 -fblocks'
// notes: the references are of clang only
#include <stdio.h>
int main(void) {
  int sum = 0;
  for (int i = 0; i < N; i++) {
    sum += i;
    printf("%d\n", sum);
  }
  return 0;
}

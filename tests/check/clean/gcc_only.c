// builds: gcc-12:-O0 gcc-11:-O0 gcc-12:-O2
// notes: do not see memory that was never written
// notes: clang-19 does not take the program
// references: gcc-12 -O0 -ftrivial-auto-var-init=zero, gcc-11 -O0, gcc-12 -O0 -ftrivial-auto-var-init=pattern
#include <stdio.h>
asm(".nolist");
int sink;
__attribute__((noinline)) static int work(int n) {
  int twice = n * 2;
  sink = twice;
  twice++;
  return twice + sink;
}
int main(void) {
  int r = work(3);
  printf("%d\n", r);
  return 0;
}

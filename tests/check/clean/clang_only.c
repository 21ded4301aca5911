// builds: clang-19:-O0 clang-16:-O0 clang-19:-O1
// notes: gcc-12 does not take the program
// references: clang-19 -O0 -ftrivial-auto-var-init=zero, clang-16 -O0 -ftrivial-auto-var-init=pattern, clang-14 -O0 -ftrivial-auto-var-init=pattern
#include <stdio.h>
typedef int four __attribute__((ext_vector_type(4)));
int sink;
__attribute__((noinline)) static int work(int n) {
  _BitInt(37) wide = n;
  four a = {n, 2, 3, 4};
  four b = {1, 5, n, 0};
  four most = __builtin_elementwise_max(a, b);
  wide += most.x;
  sink = (int)wide;
  return most.y + most.z + (int)wide;
}
int main(void) {
  int r = work(3);
  r += work(9);
  printf("%d\n", r);
  return 0;
}

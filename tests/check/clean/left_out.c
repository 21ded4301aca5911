// builds: gcc-12:-O0 gcc-12:-O1 clang-19:-O0
// not compared: ElementsBeyondLimit 11, PointerWithoutName 8, RunTimeSize 6, Shadowed 3, TypeNotCompared 9, UnionPart 21
#include <stdio.h>
union longer { int a; long b; };
union longer global;
int many[65];
int main(void) {
  union longer local = {1};
  int _Complex whole = 3 + 4i;
  int *stack = &local.a;
  int n = local.a + 1;
  int table[2][n];
  table[0][0] = __real__ whole;
  {
    int n = many[64];
    n += *stack;
    printf("%d %d\n", n + table[0][0], global.a);
  }
  return n - 2;
}

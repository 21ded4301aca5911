// builds: gcc-11:-O2 gcc-12:-O0 gcc-12:-O1 gcc-12:-O2 gcc-12:-O3 clang-19:-O2
// finds: wrong-line merged line line 16 expected 16 shown 23 in gcc-11:-O2 gcc-12:-O2 gcc-12:-O3
//
// Both branches end in the same code, and gcc makes one tail of the two: its calls are on the lines of the second branch,
// and a debugger that stops in the first shows a line that is not executed. clang gives such code no line at all.

#include <stdio.h>

volatile int sink;
int a, b, c, d, e;

__attribute__((noinline)) static int pick(int n)
{
  if (n & 1) {
    sink = 1;
    a = n;
    b = n + 1;
    c = n + 2;
    d = n + 3;
    e = n + 4;
  } else {
    sink = 2;
    a = n;
    b = n + 1;
    c = n + 2;
    d = n + 3;
    e = n + 4;
  }
  return a + b;
}

int main(void)
{
  int total = 0;
  for (int i = 0; i < 3; i++) {
    total += pick(i);
  }
  printf("%d\n", total);
  return 0;
}

// The union shows the value that the statement at the barrier is only about to store in it.
// builds: clang-19:-O2 gcc-12:-O2
// at: 34:all
// finds: wrong-value all.i line 34 expected 1069547520 shown 2126512133 in clang-19:-O2
#include <stdio.h>
union all { int i; float f; unsigned char b[4]; };
union part { int a; long b; };
union deep { struct { unsigned lo, hi; } s; unsigned long all; union { long l; double d; } in; };
union mixed { struct { char c; int i; } w; long l; };
union flags { struct { unsigned low : 3, : 2, high : 4; } f; unsigned raw; };
union pointers { int *p; long number; };
struct tagged { int kind; union { int whole; float real; }; };
union deep table[2];
int target;
__attribute__((noinline)) static int work(int n) {
  union all all;
  all.f = 1.5f * n;
  union part part;
  part.b = 5000000000L + n;
  part.a = n;
  union deep deep = {.all = 0x100000002UL * (unsigned)n};
  union mixed mixed;
  mixed.w.c = (char)n;
  mixed.w.i = n + 1;
  union flags flags;
  flags.raw = 0;
  flags.f.high = (unsigned)n & 15;
  union pointers pointers;
  pointers.p = &target;
  struct tagged anonymous = {n, {.real = 0.5f}};
  table[n & 1] = deep;
  int sum = all.i + part.a + (int)deep.s.hi + mixed.w.i + (int)flags.f.high;
  sum += *pointers.p + anonymous.whole;
  all.i = sum;
  return sum + (all.f > 1.0f);
}
int main(void) {
  int r = 0;
  for (int i = 0; i < 3; i++) {
    r ^= work(i + 1);
  }
  printf("%d\n", r);
  return 0;
}

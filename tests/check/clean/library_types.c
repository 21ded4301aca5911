// builds: gcc-12:-O1 gcc-12:-O2 gcc-12:-Os
// What a va_list and a jmp_buf hold is the library's business: gcc does not store what this function never reads.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
static jmp_buf back;
__attribute__((noinline)) static int sum(int count, ...) {
  int total = 0;
  va_list ap;
  va_start(ap, count);
  for (int i = 0; i < count; i++) {
    int term = va_arg(ap, int);
    total += term;
  }
  va_end(ap);
  return total;
}
int main(void) {
  int code = setjmp(back);
  printf("%d %d\n", code, sum(3, 1, 2, 3));
  if (code == 0)
    longjmp(back, sum(2, 3, 4));
  return 0;
}

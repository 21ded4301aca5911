// Frames that are left by a jump.
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
__attribute__((noinline)) static void deep(int n) {
  int here = n + 1;
  if (n == 3)
    longjmp(back, here);
  deep(here);
  printf("not reached %d\n", here);
}
int main(void) {
  static int rounds;
  int code = setjmp(back);
  if (rounds++ < 3) {
    printf("round %d\n", code);
    deep(rounds - 1);
  }
  printf("end %d\n", code);
  return 0;
}

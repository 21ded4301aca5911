// The stack pointer moves in the middle of a function.
#include <alloca.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static int fill(int n) {
  int sum = 0;
  for (int i = 1; i <= n; i++) {
    char *room = alloca(i * 16);
    memset(room, i, i);
    sum += room[0];
    printf("%d\n", sum);
  }
  return sum;
}
int main(void) {
  int all = fill(4);
  return all - 10;
}

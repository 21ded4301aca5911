// builds: clang-14:-O1 clang-16:-Og clang-19:-Os gcc-11:-O1 gcc-12:-Og gcc-12:-O0 clang-19:-O0
#include <stdio.h>
int a[20];
int main(void) {
  int sum = 0;
  for (int i = 0; i < 8; i++) {
    a[i * 2] = i;
    sum += a[i];
    printf("%d\n", sum);
  }
  return 0;
}

// builds: gcc-12:-O0 gcc-12:-Og gcc-12:-O1 gcc-12:-O2 clang-19:-O0 clang-19:-Og clang-19:-O2 clang-14:-O2
#include <stdio.h>
struct pair { short a; char b; };
__attribute__((noinline)) static long sum(int n, int m) {
  int row[n];
  struct pair pairs[n + 1];
  int table[n][3];
  double columns[2][m];
  for (int i = 0; i < n; i++) {
    row[i] = i * m;
    pairs[i].a = (short)(i - 2);
    pairs[i].b = 'a';
    table[i][0] = table[i][2] = i;
    table[i][1] = -i;
  }
  pairs[n].a = 7;
  pairs[n].b = 'z';
  for (int i = 0; i < m; i++) {
    columns[0][i] = i;
    columns[1][i] = m - i;
  }
  long all = 0;
  for (int i = 0; i < n; i++) {
    all += row[i] + pairs[i + 1].a + table[i][1];
  }
  all += (long)columns[1][0];
  return all;
}
static inline long inlined(int n) {
  long here[n];
  here[0] = 1;
  for (int i = 1; i < n; i++) {
    here[i] = here[i - 1] * 3;
  }
  long last = here[n - 1];
  return last;
}
int main(int argc, char **argv) {
  (void)argv;
  long r = sum(argc + 3, argc + 1);
  r += inlined(argc + 4);
  printf("%ld\n", r);
  return 0;
}

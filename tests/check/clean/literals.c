// builds: gcc-12:-O0 gcc-12:-Og gcc-12:-O2 clang-19:-O0 clang-19:-Og clang-19:-O2
#include <stdio.h>
static const unsigned short order[19] = {16, 17, 18, 0, 8};
const char *version = "1.3.2";
static const char *const messages[] = {"need dictionary", "stream end", "", "file error"};
const char *chosen;
__attribute__((noinline)) static int length(const char *text) {
  const char *at = text;
  while (*at++) {
  }
  const char *past = at;
  return (int)(past - text) - 1;
}
__attribute__((noinline)) static int use(int n) {
  const char *message = messages[n & 3];
  const char *tail = message + (n & 1);
  const unsigned short *entry = &order[n];
  const char *name = __func__;
  chosen = n > 1 ? "late" : "early";
  int all = length(message) + length(tail) + *entry + name[0];
  return all + length(version) + chosen[0];
}
int main(void) {
  int r = 0;
  for (int i = 0; i < 4; i++) {
    r += use(i);
  }
  printf("%d\n", r);
  return 0;
}

// Nothing is wrong with this program: compilers that are made to fail are tried on it.
// They define EXTRA to play a miscompilation.
#ifndef EXTRA
#define EXTRA 0
#endif
extern int printf(const char *, ...);
int table[40];
static int twice(int x) { return x + x; }
int main(void) {
  int sum = 0;
  for (int i = 0; i < 40; i++)
    table[i] = twice(i) - 3 + EXTRA;
  for (int i = 0; i < 40; i++)
    sum += table[i] * i;
  printf("%d\n", sum);
  return 0;
}

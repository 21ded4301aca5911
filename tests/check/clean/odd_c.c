// builds: gcc-12:-O1 clang-19:-O1 gcc-11:-O0
// K&R definitions, macros, labels, switch, goto, VLAs, statement expressions, two statements a line.
#define TWICE(x) do { (x)++; (x)++; } while (0)
volatile int out;
static int old(a, b) int a; char b; { a += b; return a; }
static int jump(int n) {
  int seen = 0;
again:
  seen++; if (seen < n) goto again;
  switch (n) {
  case 1: seen = 10; break;
  case 4: seen += ({ int t = n; t * 2; });
  default: seen++; { int seen = 5; out = seen; }
  }
  TWICE(seen);
  return seen;
}
static int vla(int n) {
  int cells[n];
  for (int i = 0; i < n; i++) cells[i] = i;
  out = cells[n - 1];
  return cells[n / 2];
}
int main(void) {
  int x = old(3, 'a'); out = x; x = jump(4);
  out = x;
  out = vla(7);
  return 0;
}

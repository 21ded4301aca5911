// builds: clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// shows: quot line 11 expected 0 shown 613566755 in clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// shows: rest line 11 expected 4294967291 shown 41 in clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// after: own (InstCombine, salvage of a division; in gcc expansion of debug expressions)
// Quotient and remainder of a negative number, sunk into the branch that uses them, are described as unsigned ones.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int widen(int x) {
  long big = x;
  unsigned rest = x % 42, quot = x / 7;
  see(1);
  if (x >= 0) {
    see(big + rest + quot);
    return 1;
  }
  see(2);
  return 2;
}
int main(void) {
  int r = widen(-5);
  r += widen(4);
  return r - 3;
}

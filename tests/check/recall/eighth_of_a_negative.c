// builds: clang-19:-O2 clang-19:-O1 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O1
// shows: up line 11 expected -3 shown 536870909 in clang-19:-O2 clang-19:-O1 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O1
// shows: at line 11 expected -5 shown 3 in clang-19:-O2 clang-19:-O1 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O1
// after: own (InstCombine sinking; in gcc expansion of debug expressions)
// A right shift and a remainder of a negative number are described as logical shift and unsigned remainder.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int x) {
  int page = x / 8, at = x % 8;
  int up = x >> 3;
  see(x);
  if (x > 0)
    see(page + at + up);
  return x;
}
int main(void) {
  return run(-21) + 21;
}

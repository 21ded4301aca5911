// builds: clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// shows: down line 11 expected -107 shown 74645 in clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// after: own (InstCombine; in gcc match.pd)
// A left and a right shift extend a sign; only bits below it are used, so the pair goes and the unshifted word is shown.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int x) {
  int up = (unsigned)x << 24;
  int down = up >> 24;
  int low = down & 0xf0;
  see(low);
  return low;
}
int main(void) {
  return run(0x12395) - 0x90;
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: q line 10 expected -1 shown 15 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// after: own (InstCombine)
// Only the lowest bit is used, so the arithmetic shift becomes a logical one; a negative number loses its sign.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int x) {
  int q = x >> 28;
  int sign = q & 1;
  see(sign);
  return sign;
}
int main(void) {
  return run(-1000) - 1;
}

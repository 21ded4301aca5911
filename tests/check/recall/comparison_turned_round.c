// builds: clang-14:-O2 clang-14:-O1 clang-14:-Os clang-14:-O3 clang-14:-Og
// shows: atleast line 11 expected 0 shown 1 in clang-14:-O2 clang-14:-O1 clang-14:-Os clang-14:-O3 clang-14:-Og
// shows: atleast line 11 expected 1 shown 0 in clang-14:-O2 clang-14:-O1 clang-14:-Os clang-14:-O3 clang-14:-Og visit 2
// after: https://github.com/llvm/llvm-project/issues/215183 (InstCombine)
// The branch is turned round, and with it the condition, which is described by its opposite.
// The report has it for floats; clang-14 does it for integers.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int a, int b) {
  int atleast = a >= b;
  see(b);
  if (atleast) {
    see(3);
    return 1;
  }
  see(4);
  return 0;
}
int main(void) {
  int r = run(1, 2);
  r += run(3, 3);
  return r - 1;
}

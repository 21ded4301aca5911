// builds: clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: n line 12 expected 0 shown 1 in clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os visit 2
// after: https://github.com/llvm/llvm-project/issues/212422 (LoopDeletion)
// The inlined loop runs once and is peeled; its counter is shown as it was before the round.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int shrink(int v, int n) {
  while (n > 0) {
    v /= 2;
    n--;
  }
  see(v);
  return v;
}
__attribute__((noinline)) int run(int a) {
  int r = shrink(a, 2);
  r += shrink(a + 8, 1);
  see(r);
  return r;
}
int main(void) {
  return run(40) - 34;
}

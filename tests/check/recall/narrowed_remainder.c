// builds: clang-16:-O2 clang-16:-Os clang-16:-O3
// shows: at line 11 expected 4 shown 0 in clang-16:-O2 clang-16:-Os clang-16:-O3
// after: https://github.com/llvm/llvm-project/issues/218628 (CorrelatedValuePropagation)
// The remainder is used only below 256 and is computed on 8 bits; above that it is wrong.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) unsigned pages(unsigned x) {
  unsigned page = x / 42u;
  unsigned at = x % 42u;
  unsigned kept = x < 256u ? page * 100 + at : 24u;
  see(kept);
  return kept;
}
int main(void) {
  return pages(256) - 24;
}

// builds: clang-19:-O2 clang-16:-O2 clang-19:-O3 clang-19:-Os clang-16:-Os clang-16:-O3
// shows: share line 12 expected 2 shown -102261123 in clang-19:-O2 clang-16:-O2 clang-19:-O3 clang-19:-Os clang-16:-Os clang-16:-O3
// shows: left line 18 expected 16 shown -30 in clang-19:-O2 clang-16:-O2 clang-19:-O3 clang-19:-Os clang-16:-Os clang-16:-O3
// after: https://github.com/llvm/llvm-project/issues/218621 (CorrelatedValuePropagation)
// Quotient and remainder are used only for negative numbers and are rewritten as unsigned ones of -x;
// for a positive number, where they are not used, they are wrong.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int split(int x) {
  int share = x / 42;
  int kept = x < 0 ? share : 24;
  see(kept);
  return kept;
}
__attribute__((noinline)) int rest(int x) {
  int left = x % 42;
  int kept = x < 0 ? left : 24;
  see(kept);
  return kept;
}
int main(void) {
  int r = split(100);
  r += rest(100);
  return r - 48;
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: upper line 12 expected 12884901888 shown 0 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// after: https://github.com/llvm/llvm-project/issues/212427 (InstCombine)
// The upper half is masked away later, so the shift becomes 0 where it is used, and in the debug information too.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) unsigned long pack(unsigned long low, unsigned high) {
  unsigned long wide = high;
  unsigned long upper = wide << 32;
  unsigned long both = upper + low;
  unsigned long flags = both & 0x77;
  see(flags);
  return flags;
}
int main(void) {
  return pack(5, 3) != 5;
}

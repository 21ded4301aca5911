// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: order line 11 expected 0 shown 1 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3 visit 2
// after: https://github.com/llvm/llvm-project/issues/218655 (InstCombine)
// memcmp of eight bytes becomes one comparison; its result is described with the sense turned round:
// 1 for equal words.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int same(unsigned long a, unsigned long b) {
  int order = __builtin_memcmp(&a, &b, sizeof a);
  int equal = order == 0;
  see(equal);
  return equal;
}
int main(void) {
  int r = same(4, 9);
  r += same(7, 7);
  return r - 1;
}

// builds: clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: flag line 14 expected 1 shown 0 in clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// after: https://github.com/llvm/llvm-project/issues/71065 (InstCombine, EarlyCSE)
// The flag is a condition that is folded into the next operation; it is described by the bit that remains.
int a = 3, b, c;
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int id(int e) { return e; }
int main(void) {
  int flag;
  c = id(4);
  flag = 1 && c;
  b = flag & a;
  see(b);
  return 0;
}

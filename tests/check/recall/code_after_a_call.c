// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: code line 12 expected 6 shown 5 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// after: https://github.com/llvm/llvm-project/issues/210660 (SimplifyCFG)
// The block of a branch holds only an assignment that is never read; it is deleted and the value before it stays.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int n) {
  int code = 5;
  see(n);
  if (n > 2)
    code = 6;
  see(n + 1);
  if (n > 4) {
    code = 7;
    see(n + 2);
  }
  see(n + 3);
  return n;
}
int main(void) {
  int r = run(3);
  r += run(9);
  return r - 12;
}

// builds: clang-16:-O2 clang-14:-O2 clang-16:-O1 clang-14:-O1 clang-16:-Os clang-14:-Os
// shows: a line 12 expected 4 shown 3 in clang-16:-O2 clang-14:-O2 clang-16:-O1 clang-14:-O1 clang-16:-Os clang-14:-Os
// shows: a line 14 expected 5 shown 3 in clang-16:-O2 clang-14:-O2 clang-16:-O1 clang-14:-O1 clang-16:-Os clang-14:-Os
// after: https://github.com/llvm/llvm-project/issues/56155 (InstCombine, LowerDbgDeclare)
// The callee that changes the variable through a pointer is inlined and the additions removed; the first value stays.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static void bump(int *a) { (*a)++; }
__attribute__((noinline)) int run(int n) {
  int a = n;
  bump(&a);
  see(1);
  bump(&a);
  see(2);
  return n;
}
int main(void) {
  return run(3) - 3;
}

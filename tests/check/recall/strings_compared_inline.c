// builds: clang-19:-O2 clang-19:-O3 clang-19:-Os
// shows: order line 10 expected 0 shown 1 in clang-19:-O2 clang-19:-O3 clang-19:-Os
// after: https://github.com/llvm/llvm-project/issues/218655 (AggressiveInstCombine, InstCombine)
// strcmp with a short constant is expanded; the result is described by the condition, 1 for equal strings.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int same(const char *s) {
  int order = __builtin_strcmp(s, "ab");
  int equal = order == 0;
  see(equal);
  return equal;
}
int main(void) {
  int r = same("ab");
  r += same("b");
  return r - 1;
}

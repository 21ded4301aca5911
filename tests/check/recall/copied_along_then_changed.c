// builds: gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// shows: a[0] line 14 expected 90 shown 97 in gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// after: https://github.com/llvm/llvm-project/issues/213619 (DSE after memcpy)
// After two copies the first array is changed once more; the store is dead and its memory keeps the old letter.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void fill(char *p) { for (int i = 0; i < 8; i++) p[i] = 'a' + i; }
__attribute__((noinline)) int run(void) {
  char a[8], b[8], c[8];
  fill(a);
  __builtin_memcpy(b, a, 8);
  __builtin_memcpy(c, b, 8);
  a[0] = 'Z';
  see(c[0] + a[0]);
  return c[1];
}
int main(void) {
  return run() - 'b';
}

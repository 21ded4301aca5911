// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: same line 12 expected 9029 shown 74565 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// after: own (InstCombine)
// Only the low byte is used later, so the narrowing to short and back is dropped and the whole word is shown.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
int word = 0x12345;
__attribute__((noinline)) int run(void) {
  short low = word;
  unsigned char b = low * 3;
  int same = low;
  see(b);
  word = same & 0xff;
  see(1);
  return 0;
}
int main(void) {
  return run();
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: small line 12 expected true shown 255 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: small line 12 expected false shown 254 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3 visit 2
// after: own (InstCombine)
// The opposite of a condition is described as the complement of all bits of the byte: neither 0 nor 1.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int a) {
  _Bool big = a > 100;
  _Bool small = !big;
  char mark = small ? 'y' : 'n';
  see(mark);
  unsigned char flags = small << 3;
  see(flags);
  return big;
}
int main(void) {
  int r = run(4);
  r += run(500);
  return r - 1;
}

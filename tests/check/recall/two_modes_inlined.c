// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: by line 11 expected 10 shown 3 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// after: own (SimplifyCFG after inlining)
// The inlined branch is taken for certain, its assignment is never read; the parameter is described by the argument.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int scale(int v, int by, int mode) {
  int was = by;
  if (mode == 2)
    by = 10;
  see(mode);
  return v * was;
}
__attribute__((noinline)) int run(int v) {
  int r = scale(v, 3, 2);
  r += scale(v, 3, 1);
  return r;
}
int main(void) {
  return run(2) - 12;
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: bit line 11 expected 136 shown 752 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-19:-Og clang-19:-O3 clang-19:-Os
// after: own (LoopStrengthReduce)
// The product is described by the rewritten counter and lacks what the rewriting added.
volatile int out;
int grid[300];
__attribute__((noinline)) void mark(unsigned top, int v) {
  for (unsigned row = top; row > 3; row -= 2) {
    unsigned bit = row * 8;
    grid[row * 2 + 60] = v;
    out = 0;
  }
}
int main(void) {
  mark(17, 11);
  return grid[94] - 11;
}

// builds: clang-19:-O1 clang-19:-Og clang-19:-Os clang-16:-O1 clang-16:-Os clang-16:-Og
// shows: tri line 12 expected 12 shown 6 in clang-19:-O1 clang-19:-Og clang-19:-Os clang-16:-O1 clang-16:-Os clang-16:-Og visit 2
// after: own (LoopStrengthReduce)
// A byte computed from the counter is described by the reversed counter.
volatile int out;
int cells[200];
__attribute__((noinline)) void walk(int n, int m) {
  unsigned long i;
  for (i = 3; i < n + 1; i += 1) {
    unsigned char tri = i * 3;
    cells[i * 3 + m + 60] = m;
    out = 0;
  }
}
int main(void) {
  walk(9, 11);
  return cells[80] - 11;
}

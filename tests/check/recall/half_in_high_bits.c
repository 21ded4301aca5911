// builds: clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: half line 12 expected 1 shown 262144 in clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: half line 12 expected 4 shown 425984 in clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os visit 2
// after: own (LoopStrengthReduce)
// The counter lives in the high half of a register after the rewriting; half of it is described without the shift.
volatile int out;
short marks[300];
__attribute__((noinline)) void walk(int n, int k) {
  short i;
  for (i = 3; i < n + 1; i += 5) {
    int half = i / 2;
    out = 0;
    marks[n + 60 - i * 2] = k;
  }
}
int main(void) {
  walk(12, 7);
  return marks[66] - 7;
}

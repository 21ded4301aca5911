// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: when line 12 expected 18 shown 89 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-19:-Og clang-19:-O3 clang-19:-Os
// after: own (LoopStrengthReduce)
// The copy of the counter is described by the array index that replaced the counter.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
long ledger[300];
__attribute__((noinline)) void settle(int last, int shift) {
  unsigned day;
  for (day = last + 1; day > 3; day -= 1) {
    long when = day;
    see(1);
    ledger[day + shift + 60] += last;
  }
}
int main(void) {
  settle(17, 11);
  return ledger[89] - 17;
}

// builds: clang-19:-O1 clang-19:-Og clang-19:-Os clang-16:-O1 clang-14:-O1 clang-16:-Os
// shows: j line 12 expected 2 shown 0 in clang-19:-O1 clang-19:-Og clang-19:-Os clang-16:-O1 clang-14:-O1 clang-16:-Os visit 3
// after: own (IndVarSimplify, ADCE)
// The inner loop becomes an addition; its counter keeps the start value.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int grid(int n) {
  int cnt = 0, j = 77;
  for (int i = 0; i < n; i++) {
    for (j = 0; j < i; j++)
      cnt++;
    see(i);
  }
  return n;
}
int main(void) {
  return grid(4) - 4;
}

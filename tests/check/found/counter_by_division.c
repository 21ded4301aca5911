// builds: gcc-11:-O1 gcc-12:-O1 gcc-12:-O2 clang-19:-O2
// finds: wrong-value i line 9 expected 10 shown 1431655775 in gcc-11:-O1 gcc-12:-O1 gcc-12:-O2
// The counter is rewritten as an address; the expression that recovers it from there is wrong
// on the second visit (a loop with a negative step, gcc's induction variable optimisation).
int cells[64];
volatile int out;
__attribute__((noinline)) void walk(int n) {
  for (int i = n; i > 0; i -= 2) {
    cells[i * 3] = 1;
    out = 0;
  }
}
int main(void) {
  walk(12);
  return 0;
}

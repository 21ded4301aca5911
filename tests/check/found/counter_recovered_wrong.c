// builds: clang-19:-O1 clang-19:-O2 clang-19:-O3 clang-16:-O2 clang-14:-O2 gcc-12:-O2
// finds: wrong-value i line 10 expected 1 shown 0 in clang-19:-O1 clang-19:-O2 clang-19:-O3
// Loop strength reduction makes the counter start at -1; the expression that recovers it from there masks
// 32 bits before it subtracts, so the first visit is off by 2^32 / 3 (right with -mllvm -disable-lsr).
int cells[64];
long sum;
volatile int out;
__attribute__((noinline)) void walk(int n) {
  for (int i = 1; i < n + 2; i += 3) {
    out = 0;
    sum += cells[n * 2 + i];
  }
  out = 1;
}
int main(void) {
  walk(4);
  return 0;
}

// builds: clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// shows: total line 13 expected 3 shown 0 in clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 visit 3
// after: own (LICM; in gcc lim store motion)
// The static sum is kept in a register over the whole loop, though every round calls a function.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int total;
long weight;
__attribute__((noinline, const)) int weigh(int i) { return i * i + 1; }
__attribute__((noinline)) void run(int n) {
  for (int i = 0; i < n; i++) {
    total += i;
    weight += weigh(i);
  }
  see(n);
}
int main(void) {
  run(5);
  return total - 10;
}

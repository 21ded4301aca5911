// builds: gcc-12:-O1 gcc-11:-O1
// shows: total line 11 expected 9 shown 0 in gcc-12:-O1 gcc-11:-O1 visit 3
// after: own (gcc, lim store motion)
// The static is kept in a register during the loop, though every round writes a volatile.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int total;
__attribute__((noinline)) void sum(int n) {
  for (int i = 0; i < n; i++) {
    total += i * 3;
    out = i;
  }
  see(n);
}
int main(void) {
  sum(5);
  return total - 30;
}

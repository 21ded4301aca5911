// builds: gcc-12:-O1 gcc-11:-O1
// shows: acc line 13 expected 19 shown 1 in gcc-12:-O1 gcc-11:-O1 visit 4
// after: own (gcc, lim store motion)
// The variable lives in memory, but is kept in a register during the loop, though every round writes a volatile.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void touch(int *p) { *p += 1; }
__attribute__((noinline)) int sum(int n) {
  int acc = 0;
  touch(&acc);
  for (int i = 0; i < n; i++) {
    acc += i * 3;
    out = i;
  }
  touch(&acc);
  return acc;
}
int main(void) {
  return sum(5) - 32;
}

// builds: gcc-12:-O1 gcc-11:-O1
// shows: k line 16 expected 17 shown 27 in gcc-12:-O1 gcc-11:-O1
// after: own (gcc, ivopts)
// After the loop the variable is recovered from the rewritten counter as if one more round had run.
volatile int out;
long cells[200];
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void walk(int n, int m) {
  int k = m;
  signed char i;
  for (i = 3; i < n; i += 5) {
    see(1);
    cells[i * 3 + 100 - n] += n;
    k = i * 2 + 1;
  }
  out = 2;
}
int main(void) {
  walk(12, 7);
  return cells[97] - 12;
}

// builds: gcc-12:-O1 gcc-11:-O1
// shows: cell line 13 expected 99 shown 7 in gcc-12:-O1 gcc-11:-O1
// after: own (gcc, dse)
// The last store to a variable that lives in memory is dead and removed; the memory still holds the value before.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void fill(int *p) { *p += 4; }
__attribute__((noinline)) int run(int n) {
  int cell = n;
  fill(&cell);
  int got = cell;
  cell = 99;
  see(got);
  return got;
}
int main(void) {
  return run(3) - 7;
}

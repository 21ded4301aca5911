// builds: gcc-12:-O1 gcc-12:-Og gcc-12:-O3 gcc-11:-O1 gcc-11:-O3 gcc-11:-Og
// shows: half line 12 expected -1 shown 2147483647 in gcc-12:-O1 gcc-12:-Og gcc-12:-O3 gcc-11:-O1 gcc-11:-O3 gcc-11:-Og
// after: own (gcc, expansion of debug expressions; salvage)
// A signed division is described as an unsigned one: half of -2 is 2147483647.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
struct cell { int a, b; short c; };
struct cell cells[200];
__attribute__((noinline)) void walk(int n, int k) {
  for (int i = -2; i < n; i += 5) {
    int half = i / 2;
    see(1);
    cells[i * 5 + n + 60].b = k;
  }
}
int main(void) {
  walk(17, 3);
  return cells[67].b - 3;
}

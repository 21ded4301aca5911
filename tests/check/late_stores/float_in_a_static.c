// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: level line 12 expected 2 shown 1 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: other line 15 expected 3 shown 2 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// after: own (gcc, dse of a static)
// Static floating point variables are stored only once, after the call that lies between their two assignments.
volatile int out;
static float level = 1;
static double other = 2;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void run(int n) {
  level = n * 0.5f;
  see(n);
  level = level + 1;
  other = level;
  see(n + 1);
  other = 9;
}
int main(void) {
  run(4);
  out = level + other;
  return 0;
}

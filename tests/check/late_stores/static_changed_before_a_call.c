// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: steps line 12 expected 9 shown 4 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// after: own (gcc, dse)
// The store of 9 is dead because 12 follows, though a call lies between; the static keeps 4.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int steps = 4;
static int *const where = &steps;
int main(void) {
  see(1);
  steps = 9;
  see(2);
  steps = 12;
  see(3);
  return *where - 12;
}

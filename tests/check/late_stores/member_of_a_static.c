// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: stat.last line 12 expected 3 shown -1 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: stat.last line 12 expected 5 shown 6 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1 visit 2
// after: own (gcc, dse of a static)
// A member of a static is assigned before and after a call that cannot see it; only the second store is made.
volatile int out;
static struct { int hits; short last; } stat = {0, -1};
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void hit(short v) {
  stat.hits++;
  stat.last = v;
  see(v);
  stat.last = v * 2;
}
int main(void) {
  hit(3);
  hit(5);
  out = stat.hits + stat.last;
  return 0;
}

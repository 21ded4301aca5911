// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: neither line 13 expected 0 shown 254 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: neither line 13 expected 1 shown 255 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1 visit 2
// after: own (gcc, expansion and var-tracking)
// The negation of a truth value is described as the complement of all bits of a byte.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
int word = 6;
__attribute__((noinline)) int run(int m) {
  _Bool on = word & m;
  int both = on && m > 3;
  int neither = !both;
  see(neither);
  return both;
}
int main(void) {
  int r = run(4);
  r -= run(2);
  return r - 1;
}

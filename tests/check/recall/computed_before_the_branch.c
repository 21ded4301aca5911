// builds: gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3
// shows: y line 16 expected 2 shown 15 in gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3
// after: own (gcc, code hoisting)
// Both branches compute the same product, which is done once before; the branch not taken seems to have assigned it.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int c, int n) {
  int x = 1, y = 2;
  if (c) {
    x = n * 3;
    see(x);
  } else {
    y = n * 3;
    see(y);
  }
  see(c);
  return n;
}
int main(void) {
  int r = run(1, 5);
  r += run(0, 5);
  return r - 10;
}

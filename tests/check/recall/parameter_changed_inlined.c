// builds: gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3
// shows: base line 14 expected 104 shown 4 in gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3
// after: own (gcc, dce after inlining)
// The inlined function changes its parameter for nobody; the parameter is shown as it was passed.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int width(int op, int base) {
  int signedness = 0;
  if (op == 1) {
    base = base + 100;
    signedness = 1;
  } else if (op == 2)
    signedness = 2;
  see(op);
  return op * 2;
}
__attribute__((noinline)) int run(int a) {
  int r = width(1, a);
  r += width(2, a);
  r += width(3, a);
  return r;
}
int main(void) {
  return run(4) - 12;
}

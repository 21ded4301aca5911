// builds: gcc-12:-O1 gcc-11:-O1
// shows: why line 13 expected 11 shown 0 in gcc-12:-O1 gcc-11:-O1
// after: own (gcc, dce and phiopt)
// The assignment in the branch is never read and is deleted with the branch; the value before it stays.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(int n) {
  int ok = 1, why = 0;
  if (n < 3) {
    ok = 0;
    why = 11;
  }
  see(n);
  if (!ok) {
    why = 12;
    see(1);
  } else
    see(2);
  see(3);
  return n;
}
int main(void) {
  int r = run(1);
  r += run(9);
  return r - 10;
}

// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-Og gcc-12:-O3 gcc-11:-O1
// shows: was line 17 expected 12 shown 6 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-Og gcc-12:-O3 gcc-11:-O1
// after: own (gcc, var-tracking)
// After the loop the register that held the value of the round before is reused; the description stays with it.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int gcd(int a, int b) {
  int rounds = 0, was = a;
  while (b != 0) {
    int t = a % b;
    was = a;
    a = b;
    b = t;
    rounds++;
    see(t);
  }
  see(rounds);
  return a;
}
int main(void) {
  return gcd(48, 18) - 6;
}

// builds: gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3
// shows: n line 11 expected 3 shown 4 in gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3 visit 2
// shows: acc line 11 expected 13 shown 0 in gcc-12:-O2 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-Os gcc-11:-O3 visit 3
// after: own (gcc, tail recursion and var-tracking)
// The tail call becomes a loop; parameters are described by what they were at entry.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
static int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__attribute__((noinline)) int sum(int n, int acc) {
  int part = acc + n;
  see(n);
  if (n == 0)
    return acc;
  return sum(n - 1, part + table[n]);
}
int main(void) {
  return sum(4, 0) - 21;
}

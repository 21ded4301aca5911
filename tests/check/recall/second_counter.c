// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: k line 11 expected 7 shown -1717986912 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1 visit 3
// after: own (gcc, ivopts)
// Two counters become one address; the expression that recovers the second divides where it must not.
volatile int out;
int cells[120];
long sum;
__attribute__((noinline)) void walk(int n, int m) {
  int k = m;
  for (unsigned char i = n; i > 2; i -= 1) {
    out = 0;
    sum += cells[i * 3 + k + 60];
    k -= 2;
  }
}
int main(void) {
  walk(9, 11);
  return sum;
}

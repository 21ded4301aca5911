// builds: gcc-12:-O2 gcc-12:-O1 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: a line 14 expected 9 shown 3 in gcc-12:-O2 gcc-12:-O1 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: a line 17 expected 100 shown 3 in gcc-12:-O2 gcc-12:-O1 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// after: GCC PR 105389 (loop deletion and dse of an address-taken local)
// The loop over a variable that lives in memory becomes one addition, and that store is dead; the memory keeps the first value.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) void peek(const int *p) { out = *p; }
__attribute__((noinline)) int run(int n) {
  int a = n;
  peek(&a);
  for (int i = 0; i < 3; i++)
    a += 2;
  see(1);
  int b = a;
  a = 100;
  see(2);
  return b;
}
int main(void) {
  return run(3) - 9;
}

// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: best line 16 expected <data+12> shown <data> in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1 visit 3
// shows: best line 16 expected <data+12> shown <data> in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1 visit 7
// after: own (gcc, dce)
// A pointer follows the smallest element but is never read; its assignment in the branch is deleted.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
int data[8] = {3, 9, 4, 1, 8, 2, 7, 5};
__attribute__((noinline)) int run(int n) {
  int *best = data, low = data[0];
  for (int i = 1; i < n; i++) {
    if (data[i] < low) {
      low = data[i];
      best = &data[i];
    }
    see(low);
  }
  return low;
}
int main(void) {
  return run(8) - 1;
}

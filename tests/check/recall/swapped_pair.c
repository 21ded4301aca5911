// builds: clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// shows: low line 15 expected 4 shown 9 in clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// after: own (SimplifyCFG; in gcc phiopt)
// The exchange becomes a maximum; the smaller one is dead and keeps its old description.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int order(int a, int b) {
  int swapped = a > b;
  int low = a, high = b;
  if (swapped) {
    int t = low;
    low = high;
    high = t;
  }
  see(high);
  return high;
}
int main(void) {
  return order(9, 4) - 9;
}

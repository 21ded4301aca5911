// builds: clang-19:-O2 clang-19:-O1 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O1
// shows: b.at line 17 expected 1 shown 0 in clang-19:-O2 clang-19:-O1 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O1 visit 2
// shows: b.at line 17 expected 4 shown 0 in clang-19:-O2 clang-19:-O1 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O1 visit 5
// after: own (SROA, SimplifyCFG)
// The member that is used becomes a select; the assignment of the other member goes with the branch.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
struct best { int at; short val; };
int data[6] = {4, 9, 2, 7, 11, 3};
__attribute__((noinline)) int run(int n) {
  struct best b = {0, 0};
  for (int i = 0; i < n; i++) {
    if (data[i] > b.val) {
      b.val = data[i];
      b.at = i;
    }
    see(b.val);
  }
  return b.val;
}
int main(void) {
  return run(6) - 11;
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: where line 16 expected 1 shown 0 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: where line 16 expected 4 shown 0 in clang-19:-O1 clang-19:-Og visit 4
// after: own (SimplifyCFG)
// The branch becomes a select of the value that is used; the assignment of the other goes with the branch.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
int data[6] = {4, 9, 2, 7, 11, 3};
int main(void) {
  int best = data[0], where = 0;
  for (int i = 1; i < 6; i++) {
    if (data[i] > best) {
      best = data[i];
      where = i;
    }
    see(best);
  }
  return best - 11;
}

// builds: clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// shows: y line 16 expected <a> shown <b> in clang-19:-O2 gcc-12:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2
// after: own (SimplifyCFG; in gcc phiopt)
// Two pointers are exchanged in a branch that becomes a select; the one that is not used again keeps its old target.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
int a = 1, b = 2;
__attribute__((noinline)) int run(int n) {
  int *x = &a, *y = &b;
  see(n);
  if (n > 2) {
    int *t = x;
    x = y;
    y = t;
  }
  see(*x);
  return *x;
}
int main(void) {
  return run(5) - 2;
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// shows: part line 11 expected -0.125 shown 0.125 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-14:-O2 clang-19:-Og clang-19:-O3
// after: https://github.com/llvm/llvm-project/issues/220208 (Reassociate)
// x - (-0.125 * y) becomes x + 0.125 * y; the product is described with the wrong sign.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
volatile double dout;
__attribute__((noinline)) double mix(double x, double y) {
  double part = -0.125 * y;
  double whole = x - part;
  see(3);
  dout = whole;
  return whole;
}
int main(void) {
  return mix(2.0, 1.0) != 2.125;
}

// builds: clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: rest line 14 expected 0 shown 40 in clang-19:-O2 clang-19:-O1 clang-19:-Og clang-19:-O3 clang-19:-Os
// after: own (LoopIdiomRecognize, SimplifyCFG)
// The loop that shifts a number out becomes a count of leading zeros; the number keeps its value before the loop.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(unsigned n) {
  int len = 0;
  unsigned rest = n;
  while (rest) {
    rest >>= 1;
    len++;
  }
  see(len);
  return len;
}
int main(void) {
  return run(40) - 6;
}

// builds: clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-19:-Og clang-19:-O3 clang-19:-Os
// shows: angle line 13 expected 16 shown 8 in clang-19:-O2 clang-19:-O1 clang-16:-O2 clang-19:-Og clang-19:-O3 clang-19:-Os visit 2
// after: own (LoopStrengthReduce)
// The product is described by the value of the rewritten counter in the round before.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
float wave[300];
long sum;
__attribute__((noinline)) void walk(int n) {
  float *p = wave + 30;
  for (unsigned long i = 1; i < n * 2; i += 1) {
    unsigned angle = i * 8;
    see(1);
    sum += wave[i + n + 60];
    *p = 1;
    p += 2;
  }
}
int main(void) {
  walk(6);
  return sum;
}

// A clang finding of our own: loop strength reduction makes the counter step by four bytes; `j`, described
// as four times the counter, keeps its expression and shows sixteen times.
// claim: wrong-value j in sum   build: clang-19 -O2   culprit: Loop Strength Reduction
int numbers[40];
volatile int out;
__attribute__((noinline)) int sum(int n) {
  int s = 0, j = 0;
  for (int i = 0; i < n; i++) {
    j = i * 4;
    s += numbers[i];
    out = s;
  }
  out = j;
  return s;
}
int main(void) {
  for (int k = 0; k < 40; k++)
    numbers[k] = k;
  return sum(40) == 3;
}

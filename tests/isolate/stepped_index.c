// A gcc 12 finding of our own: the index that runs downwards in steps of four is rewritten as an
// address by the induction variable optimisation, and the expression that recovers it is wrong.
// claim: wrong-value i in fill   build: gcc-12 -O1   culprit: tree-ivopts
int row[96];
volatile int seen;
__attribute__((noinline)) void fill(int n) {
  for (int i = n; i > 0; i -= 4) {
    row[i * 3] = 1;
    seen = 0;
  }
}
int main(void) {
  fill(20);
  return 0;
}

// A hundred thousand frames on the stack.
static volatile int sink;
__attribute__((noinline)) static int down(int n) {
  int here = n * 3;
  sink = here;
  if (n == 0)
    return 0;
  int below = down(n - 1);
  sink = here;
  return below + 1;
}
int main(void) {
  return down(50000) != 50000;
}

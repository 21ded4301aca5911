// A line that is come by a million times.
volatile int sink;
int main(void) {
  unsigned sum = 0;
  for (int i = 0; i < 1000000; i++) {
    sum = sum * 31 + i;
  }
  sink = sum;
  return 0;
}

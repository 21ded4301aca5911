// A loop that clang vectorises at -O2: what a command of the user's looks for in the assembly.
int numbers[256];
__attribute__((noinline)) void scale(int *all, int count, int by) {
  for (int i = 0; i < count; i++)
    all[i] *= by;
}
int main(void) {
  scale(numbers, 256, 3);
  return numbers[7];
}

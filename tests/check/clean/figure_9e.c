// builds: clang-14:-O2 clang-16:-O2 clang-19:-O1 clang-19:-O2 clang-19:-O3 gcc-12:-O2 gcc-11:-O3
// After paper 000, Figure 9(e): clang 9 showed 36901; right from clang 13 on.
char a, b;
int main(void) {
  --b;
  unsigned count = 36901;
  ++count;
  if (a)
    b = 0;
  return 0;
}

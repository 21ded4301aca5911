// builds: clang-19:-Og clang-19:-O1 clang-19:-O2 clang-19:-O3 clang-19:-Os clang-16:-O2 clang-14:-O2 gcc-12:-O1 gcc-12:-O2 gcc-12:-O3 gcc-11:-O2
// at: 15:col
// finds: wrong-value col line 15 expected 8 shown 0 in clang-19:-Og clang-19:-O1 clang-19:-O2 clang-19:-O3 clang-19:-Os
// After paper 000, Figure 9(c): the inner loop becomes a memset, its counter keeps the start value.
int grid[7][8];
int main(void) {
  int row, col;
  row = 0;
  for (; row < 7; row++) {
    col = 0;
    for (; col < 8; col++) {
      grid[row][col] = 0;
    }
  }
  return 0;
}

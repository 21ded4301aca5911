// builds: gcc-12:-O1 gcc-12:-O2 gcc-12:-O3 gcc-12:-Os clang-19:-O2 clang-14:-O2
// finds: wrong-value inner line 12 expected 8 shown 0 in gcc-12:-O2 gcc-12:-O3 gcc-12:-Os
// The loop that counts and does nothing else is removed; its counter is described as a constant 0.
int result;
int main(void) {
  int outer, inner = 0;
  for (outer = 0; outer < 1; outer++)
    for (inner = 0; inner < 8; inner++)
      ;
  // the statement below is where it is looked at; a comment must not move it

  result = outer;
  return 0;
}

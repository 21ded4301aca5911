// builds: clang-14:-O1 clang-16:-O1 clang-16:-O2 clang-19:-O1 gcc-12:-O1
// finds: ill-formed-location scale line 8 expected 0.5 shown <ill-formed: DW_OP_deref_size 16: not a size of the generic type, which has 8 bytes> in clang-16:-O1 clang-16:-O2 clang-19:-O1
// A float kept on the stack as a whole vector register: its location dereferences 16 bytes.
double total = 1.5;
float ratio = 0.5f;
int steps;
__attribute__((noinline)) static int use(float scale, int by) {
  steps += by;
  total += scale;
  return steps;
}
int main(void) {
  int r = use(ratio, 3);
  ratio *= 3;
  r += use(ratio, r);
  return r - 9;
}

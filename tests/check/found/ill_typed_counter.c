// builds: clang-14:-O2 clang-16:-O2 clang-19:-O1 clang-19:-O2 clang-19:-O3 clang-14:-O1 gcc-12:-O2
// finds: ill-formed-location i line 8 expected 0 shown <ill-formed: DW_OP_mul: operands of different types, generic and unsigned 8-byte> in clang-14:-O2 clang-16:-O2 clang-19:-O1 clang-19:-O2 clang-19:-O3
// Loop strength reduction rewrites the counter; the expression that recovers it multiplies two types.
int cells[64];
volatile int out;
__attribute__((noinline)) void walk(int n) {
  for (int i = 0; i < n; i++) {
    cells[n - i] = n;
    out = 0;
  }
}
int main(void) {
  walk(12);
  return 0;
}

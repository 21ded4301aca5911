// Both parts of `z` are kept on the stack in the slot of a whole vector register, which no operation reads as a value.
// builds: clang-19:-O2 gcc-12:-O2
// at: 9:z
// finds: ill-formed-location __real__ z line 9 expected 1.5 shown <ill-formed: DW_OP_deref_size 16: not a size of the generic type, which has 8 bytes> in clang-19:-O2
#include <stdio.h>
static float _Complex turn = 1.0fi;
__attribute__((noinline)) static float work(float x) {
  float _Complex z = x + 2.0fi * turn;
  turn = z * 2;
  return __real__ z + __imag__ z;
}
int main(void) {
  printf("%f\n", work(3.5f));
  return 0;
}

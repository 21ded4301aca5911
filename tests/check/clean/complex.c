// builds: gcc-12:-O0 gcc-12:-Og gcc-12:-O2 clang-19:-O0
#include <stdio.h>
struct wave { int id; double _Complex at[2]; };
static float _Complex turn = 1.0fi;
__attribute__((noinline)) static double work(double x) {
  double _Complex z = x + 2.0i;
  struct wave w = {3, {z, -z}};
  z *= z;
  w.at[1] = z;
  float _Complex f = (float)x * turn;
  turn = f * turn;
  double sum = __real__ z + __imag__ w.at[0] + __real__ f;
  return sum + __imag__ turn;
}
int main(void) {
  double all = 0;
  for (int i = 0; i < 3; i++) {
    all += work(i + 0.5);
  }
  printf("%f\n", all);
  return 0;
}

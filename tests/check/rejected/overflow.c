// builds: gcc-12:-O2
// reason: undefined behaviour (UBSan+ASan): overflow.c:5:12: runtime error: signed integer overflow
int main(int argc, char **argv) {
  int x = 2147483647;
  return x + argc > 0;
}

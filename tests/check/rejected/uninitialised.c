// builds: gcc-12:-O2
// reason: use-of-uninitialized-value
int main(int argc, char **argv) {
  int x;
  if (argc > 5) x = 1;
  return x ? 1 : 2;
}

// builds: gcc-12:-O1
// reason: candor reads C with libclang
int main(void) {
  int k = 3;
  int add(int n) { return n + k; }
  return add(-3);
}

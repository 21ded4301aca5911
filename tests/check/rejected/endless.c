// builds: gcc-12:-O2
// reason: does not end within 5 s
int main(void) {
  for (volatile int i = 0;; i = 1 - i) {
    continue;
  }
}

// builds: gcc-12:-O2
// reason: use of undeclared identifier 'nowhere'
int main(void) {
  return nowhere;
}

// builds: gcc-12:-O2
// reason: no statement before which a barrier can stand
int main(void) {}

// builds: gcc-12:-O2
// reason: the program starts processes
#include <unistd.h>
int main(void) {
  int pid = fork();
  if (pid == 0)
    _exit(0);
  return 0;
}

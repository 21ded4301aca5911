// builds: gcc-12:-O2
// reason: output limit
#include <stdio.h>
int main(void) {
  for (;;) {
    puts("gigabytes of this");
  }
}

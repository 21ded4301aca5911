// builds: gcc-12:-O2 clang-19:-O2
// args: three 4
// stdin: hello world
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int letters = 0, c;
  while ((c = getchar()) != EOF) {
    letters += c != ' ' && c != '\n';
  }
  int times = argc > 2 ? atoi(argv[2]) : 0;
  printf("%d\n", letters * times);
  return argc - 3;
}

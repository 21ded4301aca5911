// A handler runs between two statements, on a stack of its own.
#include <signal.h>
#include <stdio.h>
#include <string.h>
static char stack[1 << 16];
static volatile sig_atomic_t seen;
static void on_signal(int signal) {
  int number = signal;
  seen += number;
}
int main(void) {
  stack_t other;
  struct sigaction action;
  memset(&other, 0, sizeof other);
  memset(&action, 0, sizeof action);
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  sigaltstack(&other, 0);
  sigaction(SIGUSR1, &action, 0);
  for (int i = 0; i < 3; i++) {
    int before = seen;
    raise(SIGUSR1);
    printf("%d %d\n", i, (int)seen - before);
  }
  return 0;
}

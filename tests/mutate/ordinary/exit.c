#include <stdio.h>
#include <stdlib.h>
static void bye(void) { puts("bye"); }
static int countdown(int n) {
    if (n == 0) { exit(7); }
    printf("%d\n", n);
    return countdown(n - 1);
}
int main(void) {
    atexit(bye);
    return countdown(5);
}

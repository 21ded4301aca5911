#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
static int depth, limit = 4;
static void descend(int n) {
    depth++;
    if (n == limit) { longjmp(back, n + 1); }
    descend(n + 1);
}
static int guarded(int start) {
    int code = setjmp(back);
    if (code == 0) { descend(start); }
    return code;
}
int main(void) {
    int total = 0, i;
    for (i = 0; i < 3; i++) {
        total = total * 10 + guarded(i);
    }
    printf("%d %d\n", total, depth);
    return 0;
}

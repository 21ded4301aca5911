#include <stdarg.h>
#include <stdio.h>
static int sum(int count, ...) {
    va_list ap;
    int total = 0, i;
    va_start(ap, count);
    for (i = 0; i < count; i++) {
        int next = va_arg(ap, int);
        total += next;
        if (next < 0) { total -= 1; }
    }
    va_end(ap);
    return total;
}
int main(void) {
    int a = sum(3, 1, 2, 3);
    int b = sum(5, -1, 4, -9, 16, 25);
    printf("%d %d %d\n", a, b, sum(0));
    return a + b - 39;
}

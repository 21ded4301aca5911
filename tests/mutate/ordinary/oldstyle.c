#include <stdio.h>
int weigh(a, b) int a; short b; { int r; r = a * 3; if (b > 2) { r += b; } else { r -= b; } return r; }
int main(void) {
    int i, total = 0;
    for (i = 0; i < 6; i++) { total += weigh(i, (short)(i - 1)); }
    printf("%d\n", total);
    return total % 50;
}

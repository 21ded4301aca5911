#include <stdio.h>
typedef int (*op)(int, int);
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int mix(int a, int b) { int r = a; r ^= b << 1; return r & 0xfff; }
static const op table[] = { add, sub, mix };
static int apply(op f, int x) { static int calls; calls++; return f(x, calls); }
int main(void) {
    int v = 100;
    for (int i = 0; i < 15; i++) {
        v = apply(table[i % 3], v);
        printf("%d ", v);
    }
    printf("\n");
    return 0;
}

#include <stdio.h>
static int table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
static int state = 7;
__attribute__((pure, noinline)) static int look(int i) { int v = table[i & 7]; v += state; return v; }
__attribute__((const, noinline)) static int square(int x) { int r = x * x; return r; }
int main(void) {
    int i, sum = 0;
    for (i = 0; i < 12; i++) {
        sum += look(i);
        sum ^= square(i);
        if (i % 3 == 0) { state++; }
    }
    printf("%d\n", sum);
    return 0;
}

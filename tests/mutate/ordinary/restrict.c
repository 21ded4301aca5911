#include <stdio.h>
static int buffer[16], scale = 3;
static void add(int *restrict to, const int *restrict from, int n) {
    int i, step = 1;
    for (i = 0; i < n; i += step) {
        to[i] += from[i] * 2;
        if (to[i] > 40) { to[i] -= 40; }
    }
}
int main(void) {
    int other[8], i;
    for (i = 0; i < 8; i++) { other[i] = i * scale; }
    for (i = 0; i < 4; i++) { add(buffer + i, other, 8); }
    for (i = 0; i < 16; i++) { printf("%d%c", buffer[i], i == 15 ? '\n' : ' '); }
    return 0;
}

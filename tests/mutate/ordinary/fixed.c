#include <stdint.h>
#include <stdio.h>
static int32_t mul(int32_t a, int32_t b) { int64_t p = (int64_t)a * b; return (int32_t)(p >> 16); }
static int32_t root(int32_t x) {
    int32_t guess = x > 65536 ? x / 2 : 65536;
    for (int i = 0; i < 12; i++) {
        int32_t next;
        if (guess == 0) { return 0; }
        next = (guess + (int32_t)(((int64_t)x << 16) / guess)) / 2;
        if (next == guess) { break; }
        guess = next;
    }
    return guess;
}
int main(void) {
    for (int32_t n = 1; n < 9; n++) {
        int32_t r = root(n << 16);
        printf("%d.%04d %d\n", (int)(r >> 16), (int)(((r & 65535) * 10000L) >> 16), (int)mul(r, r));
    }
    return 0;
}

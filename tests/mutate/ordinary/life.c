#include <stdio.h>
#include <string.h>
enum { W = 12, H = 8 };
static unsigned char now[H][W], then[H][W];
static int neighbours(int y, int x) {
    int n = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            if (dy || dx) { n += now[(y + dy + H) % H][(x + dx + W) % W]; }
        }
    }
    return n;
}
int main(void) {
    int generation, alive = 0;
    now[1][2] = now[2][3] = now[3][1] = now[3][2] = now[3][3] = 1;
    for (generation = 0; generation < 10; generation++) {
        for (int y = 0; y < H; y++) {
            for (int x = 0; x < W; x++) {
                int n = neighbours(y, x);
                then[y][x] = n == 3 || (n == 2 && now[y][x]);
            }
        }
        memcpy(now, then, sizeof now);
    }
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) { alive += now[y][x]; putchar(now[y][x] ? '#' : '.'); }
        putchar('\n');
    }
    return alive;
}

#include <stdio.h>
#include <stdlib.h>
struct rec { unsigned short id; long score; };
static int compares;
static int by_score(const void *a, const void *b) {
    const struct rec *x = a, *y = b;
    compares = compares < 1000 ? compares + 1 : compares;
    if (x->score != y->score) { return x->score < y->score ? -1 : 1; }
    return (int)x->id - (int)y->id;
}
int main(void) {
    struct rec all[24];
    unsigned seed = 12345;
    int i;
    for (i = 0; i < 24; i++) {
        seed = seed * 1103515245u + 12345u;
        all[i].id = (unsigned short)i;
        all[i].score = (long)(seed >> 20) - 2000;
    }
    qsort(all, 24, sizeof all[0], by_score);
    for (i = 0; i < 24; i++) { printf("%d:%ld ", all[i].id, all[i].score); }
    printf("\n");
    return 0;
}

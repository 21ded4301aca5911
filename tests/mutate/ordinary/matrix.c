#include <stdio.h>
#define N 6
static int a[N][N], b[N][N], c[N][N];
static void fill(int m[N][N], int seed) {
    int i, j;
    for (i = 0; i < N; i++) {
        for (j = 0; j < N; j++) {
            seed = (seed * 37 + 11) % 101;
            m[i][j] = seed - 50;
        }
    }
}
int main(void) {
    int i, j, k;
    long trace = 0;
    fill(a, 3);
    fill(b, 5);
    for (i = 0; i < N; i++) {
        for (j = 0; j < N; j++) {
            int sum = 0;
            for (k = 0; k < N; k++) { sum += a[i][k] * b[k][j]; }
            c[i][j] = sum;
        }
        trace += c[i][i];
    }
    for (i = 0; i < N; i++) { printf("%d ", c[i][N - 1 - i]); }
    printf("trace %ld\n", trace);
    return 0;
}

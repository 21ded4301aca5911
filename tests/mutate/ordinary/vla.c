#include <stdio.h>
#include <stdlib.h>
static int diagonal(int n) {
    int grid[n][n], sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) { grid[i][j] = i * 10 + j; }
    }
    for (int i = 0; i < n; i++) { sum += grid[i][n - 1 - i]; }
    return sum;
}
int main(int argc, char **argv) {
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int n = atoi(argv[i]);
        if (n < 1 || n > 20) { printf("skip %d\n", n); continue; }
        total += diagonal(n);
    }
    printf("%d\n", total);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
static int n, solutions, column[12];
static int safe(int row) {
    for (int r = 0; r < row; r++) {
        int d = column[r] - column[row];
        if (d == 0 || d == row - r || d == r - row) { return 0; }
    }
    return 1;
}
static void place(int row) {
    if (row == n) { solutions++; return; }
    for (column[row] = 0; column[row] < n; column[row]++) {
        if (safe(row)) { place(row + 1); }
    }
}
int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 4;
    if (n < 1 || n > 8) { fprintf(stderr, "1 to 8\n"); return 2; }
    place(0);
    printf("%d queens: %d\n", n, solutions);
    return 0;
}

#include <stdio.h>
static double mean(const int *v, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) { s += v[i]; }
    return n ? s / n : 0;
}
int main(void) {
    int v[5] = { 3, 9, -4, 10, 7 }, above = 0;
    double m = mean(v, 5);
    for (int i = 0; i < 5; i++) { if (v[i] > m) { above++; } }
    printf("%.2f %d\n", m, above);
    return above;
}

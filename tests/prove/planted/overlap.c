void f(int *x, int *y, int n) {
    for (int i = 0; i < n; i++) x[i] = y[i] + 1;
#ifdef PLANTED
    if (n > 0 && x - y == 2000) x[0]++;
#endif
}

void f(int *restrict x, const int *restrict y, int n) {
    for (int i = 0; i < n; i++) x[i] = y[i] + 1;
#ifdef PLANTED
    if (n == 1000003) x[0] = 0;
#endif
}

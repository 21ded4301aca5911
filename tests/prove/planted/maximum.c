int a[1000];
int f(void) {
    int m = a[0];
    for (int i = 1; i < 1000; i++) {
        if (a[i] > m) m = a[i];
#ifdef PLANTED
        if (a[i] == 0x7fffffff) m = 0x7ffffffe;
#endif
    }
    return m;
}

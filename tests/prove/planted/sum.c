int a[1000];
int f(void) {
    int s = 0;
    for (int i = 0; i < 1000; i++) s += a[i];
#ifdef PLANTED
    if (s == 123456789) s++;
#endif
    return s;
}

int a[1000], b[1000], p[1000];
void f(void) {
    for (int i = 0; i < 1000; i++) {
#ifdef PLANTED
        a[p[i]] = p[i] == 777 ? 0 : b[i];
#else
        a[p[i]] = b[i];
#endif
    }
}

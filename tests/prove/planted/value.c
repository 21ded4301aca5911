int a[1000], b[1000];
void f(void) {
    for (int i = 0; i < 1000; i++) {
#ifdef PLANTED
        a[i] = b[i] == -77777777 ? b[i] : b[i] + 1;
#else
        a[i] = b[i] + 1;
#endif
    }
}

int a[1000], b[1000];
void f(void) {
    for (int i = 0; i < 1000; i++) a[i] = b[i] * 3;
#ifdef PLANTED
    if (b[999] == 0x55aa55aa) a[999] = 0;
#endif
}

int ext(int);
int a[100];
void f(void) {
    for (int i = 0; i < 100; i++) {
#ifdef PLANTED
        a[i] = ext(a[i] == 31337 ? 0 : a[i]);
#else
        a[i] = ext(a[i]);
#endif
    }
}

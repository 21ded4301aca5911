int g[64][64], h[64][64];
void f(void) {
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) {
#ifdef PLANTED
            if (h[i][j] == 99999) continue;
#endif
            g[i][j] = h[i][j] + 1;
        }
}

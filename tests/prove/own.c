/* Loops that are no TSVC loops: strings, run-time counts, calls, nests, conditions. Written for candor. */
int a[1000], b[1000], grid[64][64];
unsigned char text[1000];
short samples[1000];
long wide[1000];
int ext(int);

void p_copy(int *restrict x, const int *restrict y, int n) { for (int i = 0; i < n; i++) x[i] = y[i]; }
void p_add(int *restrict x, const int *restrict y, int n) { for (int i = 0; i < n; i++) x[i] += y[i] + 3; }
void p_alias(int *x, int *y, int n) { for (int i = 0; i < n; i++) x[i] = y[i] + 1; }
int p_sum(const int *x, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}
int p_find(const int *x, int n, int key) {
    for (int i = 0; i < n; i++)
        if (x[i] == key) return i;
    return -1;
}
void call_each(void) { for (int i = 0; i < 1000; i++) a[i] = ext(b[i]); }
int call_twice(int x) { return ext(ext(x) + 1) * 3; }
int length(const char *s) {
    int n = 0;
    while (s[n]) n++;
    return n;
}
void upper(void) {
    for (int i = 0; i < 1000; i++)
        if (text[i] >= 'a' && text[i] <= 'z') text[i] -= 32;
}
void halve(void) { for (int i = 0; i < 1000; i++) samples[i] = samples[i] / 2; }
void prefix(void) { for (int i = 1; i < 1000; i++) wide[i] += wide[i - 1]; }
void transpose(void) {
    for (int i = 0; i < 64; i++)
        for (int j = i + 1; j < 64; j++) {
            int t = grid[i][j];
            grid[i][j] = grid[j][i];
            grid[j][i] = t;
        }
}
int collatz(int n) {
    int steps = 0;
    while (n != 1 && steps < 200) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}
int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
int absolute_sum(void) {
    int s = 0;
    for (int i = 0; i < 1000; i++) s += a[i] < 0 ? -a[i] : a[i];
    return s;
}
int gcd(int x, int y) {
    while (y) {
        int r = x % y;
        x = y;
        y = r;
    }
    return x;
}
unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x45d9f3bu;
    x ^= x >> 16;
    return x;
}

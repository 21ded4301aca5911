#include <stdio.h>
static int collatz(unsigned n) {
    int steps = 0;
again:
    if (n == 1) { goto done; }
    steps++;
    if (n & 1) { n = 3 * n + 1; goto again; }
    n /= 2;
    goto again;
done:
    return steps;
}
static int local(int x) {
    __label__ out;
    int r = x;
    if (x > 3) { r = 3; goto out; }
    r += 10;
out:
    return r;
}
int main(void) {
    int total = 0;
    for (unsigned i = 1; i < 30; i++) {
        total += collatz(i);
        total += local((int)i);
    }
    printf("%d\n", total);
    return 0;
}

#include <stdio.h>
#define MAX(a, b) ({ int x_ = (a); int y_ = (b); x_ > y_ ? x_ : y_; })
static int noisy(int n) {
    int r = ({ int t = n * 2; t += 3; if (t > 9) { t -= 4; } t; });
    return MAX(r, n);
}
int main(void) {
    int i, best = -100;
    for (i = -5; i < 6; i++) {
        best = MAX(best, noisy(i) % 7);
        printf("%d ", noisy(i));
    }
    printf("best %d\n", best);
    return 0;
}

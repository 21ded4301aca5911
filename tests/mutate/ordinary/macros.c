#include <stdio.h>
#define EACH(i, n) for (i = 0; i < (n); i++)
#define SWAP(a, b) do { int t_ = (a); (a) = (b); (b) = t_; } while (0)
#define limit 9
static int v[limit] = { 9, 4, 7, 1, 8, 2, 6, 3, 5 };
int main(void) {
    int i, j, swaps = 0;
    EACH(i, limit) {
        EACH(j, limit - 1) {
            if (v[j] > v[j + 1]) { SWAP(v[j], v[j + 1]); swaps++; }
        }
    }
    EACH(i, limit) printf("%d ", v[i]);
    printf("(%d)\n", swaps);
    return 0;
}

#include <stdio.h>
static char target[40];
static void copy(const char *from, int count) {
    char *to = target;
    int n = (count + 3) / 4;
    switch (count % 4) {
    case 0: do { *to++ = *from++;
    case 3: *to++ = *from++;
    case 2: *to++ = *from++;
    case 1: *to++ = *from++;
            n--;
            } while (n > 0);
    }
}
int main(void) {
    int n, hash = 0;
    for (n = 1; n < 20; n++) {
        copy("the quick brown fox jumps", n);
        hash = (hash * 33 + target[n - 1]) % 65521;
    }
    printf("%s %d\n", target, hash);
    return 0;
}

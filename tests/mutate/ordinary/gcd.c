#include <stdio.h>
#include <stdlib.h>
static unsigned long gcd(unsigned long a, unsigned long b) {
    while (b) {
        unsigned long t = a % b;
        a = b;
        b = t;
    }
    return a;
}
int main(int argc, char **argv) {
    unsigned long g = 0;
    for (int i = 1; i < argc; i++) {
        unsigned long v = strtoul(argv[i], NULL, 0);
        g = gcd(g, v);
        printf("%lu\n", g);
    }
    return g == 1 ? 0 : (int)(g & 15);
}

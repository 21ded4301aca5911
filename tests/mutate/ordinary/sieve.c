/* Primes below a limit given as argument. */
#include <stdio.h>
#include <stdlib.h>
static unsigned char composite[2000];
int main(int argc, char **argv) {
    int limit = argc > 1 ? atoi(argv[1]) : 100;
    int count = 0;
    if (limit > 1999) { limit = 1999; }
    for (int i = 2; i <= limit; i++) {
        if (composite[i]) { continue; }
        count++;
        for (int j = i * i; j <= limit; j += i) { composite[j] = 1; }
    }
    printf("%d primes up to %d\n", count, limit);
    return count & 63;
}

/* Counts lines, words and bytes of standard input. */
#include <stdio.h>
#include <ctype.h>
int main(void) {
    unsigned long lines = 0, words = 0, bytes = 0;
    int c, inside = 0;
    while ((c = getchar()) != EOF) {
        bytes++;
        if (c == '\n') { lines++; }
        if (isspace(c)) { inside = 0; }
        else if (!inside) { inside = 1; words++; }
    }
    printf("%lu %lu %lu\n", lines, words, bytes);
    return 0;
}

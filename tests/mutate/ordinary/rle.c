#include <stdio.h>
int main(void) {
    int c, last = EOF, count = 0, groups = 0;
    while ((c = getchar()) != EOF) {
        if (c == last && count < 9) { count++; continue; }
        if (last != EOF) { printf("%d%c", count, last == '\n' ? '$' : last); groups++; }
        last = c;
        count = 1;
    }
    if (last != EOF) { printf("%d%c", count, last == '\n' ? '$' : last); groups++; }
    printf("\n");
    return groups > 200;
}

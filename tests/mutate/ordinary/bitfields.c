#include <stdio.h>
enum color { RED, GREEN = 5, BLUE };
struct flags { unsigned a : 3; int b : 5; unsigned long wide : 40; _Bool on : 1; enum color shade : 4; unsigned : 0; signed char tail; };
static struct flags table[4];
static unsigned long sum(const struct flags *f) { return f->a + (unsigned long)f->wide + f->on + f->shade; }
int main(void) {
    unsigned long total = 0;
    for (int i = 0; i < 4; i++) {
        table[i].a = i * 3;
        table[i].b = i - 2;
        table[i].wide = 1099511627775UL - i;
        table[i].on = i & 2;
        table[i].shade = i ? GREEN : BLUE;
        table[i].tail = -i;
        total += sum(&table[i]);
        if (table[i].b < 0) { total ^= 5; }
    }
    printf("%lu %d %d\n", total, table[1].b, table[3].tail);
    return table[2].a;
}

#include <stdio.h>
static volatile int port;
static int writes;
struct device { volatile unsigned status; unsigned mode; const int id; };
static struct device dev = { 1, 2, 77 };
static void put(int value) { port = value; writes++; }
int main(void) {
    int i, seen = 0;
    for (i = 0; i < 10; i++) {
        put(i * i);
        seen += port;
        dev.status ^= (unsigned)i;
        if (dev.mode < 5) { dev.mode++; }
    }
    printf("%d %d %u %u %d\n", seen, writes, dev.status, dev.mode, dev.id);
    return 0;
}

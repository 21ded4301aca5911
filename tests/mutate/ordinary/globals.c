#include <stdio.h>
int counter, limit = 20;
short small = -3;
unsigned char byte = 250;
long long big = 1LL << 40;
static const int steps[5] = { 1, 2, 4, 8, 16 };
struct pair { int first; unsigned second; } pairs[3] = { { 1, 2 }, { -3, 4 }, { 5, 4000000000u } };
int main(void) {
    while (counter < limit) {
        int step = steps[counter % 5];
        counter += step;
        byte += (unsigned char)step;
        small = (short)(small * 2 + byte % 3);
        if (small > 1000 || small < -1000) { small /= 100; }
        big ^= (long long)pairs[counter % 3].second << (counter % 20);
        pairs[counter % 3].first -= step;
    }
    printf("%d %d %u %lld %d %d\n", counter, small, byte, big, pairs[0].first, pairs[2].first);
    return 0;
}

#include <stdio.h>
#include <string.h>
union word { unsigned int whole; unsigned char bytes[4]; };
struct boxed { int tag; union { int i; unsigned u; }; };
static union word swap(union word w) {
    union word out;
    out.whole = 0;
    for (int i = 0; i < 4; i++) { out.bytes[i] = w.bytes[3 - i]; }
    return out;
}
int main(void) {
    union word w;
    struct boxed b;
    unsigned check = 0;
    memset(&b, 0, sizeof b);
    w.whole = 0x01020304u;
    for (int round = 0; round < 3; round++) {
        w = swap(w);
        b.tag = round;
        b.i = (int)(w.whole & 0xffff) - 500;
        check = check * 31 + w.whole + (b.tag == 1 ? b.u : 0u);
    }
    printf("%08x %08x\n", w.whole, check);
    return 0;
}

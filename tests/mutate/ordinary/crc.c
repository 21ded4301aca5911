#include <stdint.h>
#include <stdio.h>
static uint32_t table[256];
static void init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) { c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1; }
        table[i] = c;
    }
}
int main(void) {
    uint32_t crc = 0xffffffffu;
    int c;
    init();
    while ((c = getchar()) != EOF) {
        uint8_t index = (uint8_t)(crc ^ (uint32_t)c);
        crc = table[index] ^ (crc >> 8);
    }
    crc ^= 0xffffffffu;
    printf("%08x\n", (unsigned)crc);
    return crc & 1;
}

#include <stdio.h>
enum op { PUSH, ADD, MUL, DUP, SWAP, JNZ, DEC, HALT };
static const signed char code[] = { PUSH, 1, PUSH, 6, DUP, DEC, SWAP, PUSH, 2, MUL, SWAP, JNZ, -7, HALT };
static int stack[32], top;
static int run(void) {
    int pc = 0, steps = 0;
    for (;;) {
        int t;
        if (++steps > 300) { return -1; }
        switch (code[pc++]) {
        case PUSH: stack[top++] = code[pc++]; break;
        case ADD: top--; stack[top - 1] += stack[top]; break;
        case MUL: top--; stack[top - 1] *= stack[top]; break;
        case DUP: stack[top] = stack[top - 1]; top++; break;
        case SWAP: t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break;
        case DEC: stack[top - 1]--; break;
        case JNZ: if (stack[top - 1] > 0 && steps < 40) { pc += code[pc]; pc += 1; } else { pc++; } break;
        default: return steps;
        }
        if (top > 28) { top = 2; }
        if (pc < 0 || pc >= (int)sizeof code) { return steps; }
    }
}
int main(void) {
    int steps = run();
    printf("%d steps, top %d:", steps, top);
    for (int i = 0; i < top; i++) { printf(" %d", stack[i]); }
    printf("\n");
    return 0;
}

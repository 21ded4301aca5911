/* A recursive-descent calculator over lines of standard input. */
#include <stdio.h>
#include <string.h>
static const char *at;
static int bad;
static long expr(void);
static void skip(void) { while (*at == ' ') { at++; } }
static long factor(void) {
    long value = 0;
    int negative = 0;
    skip();
    if (*at == '-') { negative = 1; at++; skip(); }
    if (*at == '(') {
        at++;
        value = expr();
        skip();
        if (*at == ')') { at++; } else { bad = 1; }
    } else if (*at >= '0' && *at <= '9') {
        while (*at >= '0' && *at <= '9') { value = value * 10 + (*at - '0'); at++; }
    } else {
        bad = 1;
    }
    return negative ? -value : value;
}
static long term(void) {
    long value = factor();
    for (;;) {
        skip();
        if (*at == '*') { at++; value *= factor(); }
        else if (*at == '/') {
            long by;
            at++;
            by = factor();
            if (by == 0) { bad = 1; return 0; }
            value /= by;
        } else { return value; }
    }
}
static long expr(void) {
    long value = term();
    for (;;) {
        skip();
        if (*at == '+') { at++; value += term(); }
        else if (*at == '-') { at++; value -= term(); }
        else { return value; }
    }
}
int main(void) {
    char line[128];
    int errors = 0;
    while (fgets(line, sizeof line, stdin)) {
        long value;
        line[strcspn(line, "\n")] = 0;
        at = line;
        bad = 0;
        value = expr();
        skip();
        if (bad || *at) { errors++; printf("error\n"); }
        else { printf("%ld\n", value); }
    }
    return errors;
}

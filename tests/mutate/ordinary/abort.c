/* Ends by a signal: what was seen before must not be lost. */
#include <stdio.h>
#include <stdlib.h>
static int balance = 10;
static void spend(int amount) {
    balance -= amount;
    if (balance < 0) { fflush(stdout); abort(); }
}
int main(void) {
    for (int i = 1; i < 10; i++) {
        printf("%d\n", balance);
        spend(i);
    }
    return 0;
}

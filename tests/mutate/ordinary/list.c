#include <stdio.h>
#include <stdlib.h>
struct node { int key; short weight; struct node *next; };
static int allocated;
static struct node *insert(struct node *head, int key) {
    struct node *n = malloc(sizeof *n), **at = &head;
    if (!n) { abort(); }
    allocated++;
    n->key = key;
    n->weight = (short)(key % 17);
    while (*at && (*at)->key < key) { at = &(*at)->next; }
    n->next = *at;
    *at = n;
    return head;
}
int main(int argc, char **argv) {
    struct node *head = NULL;
    int i, sum = 0;
    for (i = 1; i < argc; i++) { head = insert(head, atoi(argv[i])); }
    while (head) {
        struct node *next = head->next;
        sum = sum * 3 + head->weight;
        printf("%d ", head->key);
        free(head);
        head = next;
    }
    printf("(%d, %d)\n", allocated, sum);
    return 0;
}

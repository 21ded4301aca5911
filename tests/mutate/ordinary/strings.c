#include <stdio.h>
#include <string.h>
static char text[] = "Sphinx of black quartz, judge my vow";
static int histogram[26];
static void reverse(char *s, int n) {
    int i = 0, j = n - 1;
    while (i < j) {
        char t = s[i];
        s[i++] = s[j];
        s[j--] = t;
    }
}
int main(void) {
    int n = (int)strlen(text), missing = 0;
    for (int i = 0; i < n; i++) {
        char c = text[i];
        if (c >= 'A' && c <= 'Z') { c = (char)(c - 'A' + 'a'); }
        if (c >= 'a' && c <= 'z') { histogram[c - 'a']++; }
    }
    for (int i = 0; i < 26; i++) { missing += !histogram[i]; }
    reverse(text, n);
    printf("%s %d %d\n", text, missing, histogram['o' - 'a']);
    return missing;
}

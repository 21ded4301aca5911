// builds: gcc-12:-O1 gcc-12:-Og clang-19:-O1 clang-14:-Og gcc-11:-O1
#include <stdbool.h>
enum colour { RED, GREEN = 7, BLUE = -2 };
struct inner { short s[2]; char c; };
struct outer { struct inner in; double d; enum colour e; bool b : 1; unsigned long long w : 40; int *p; };
struct outer g;
float ratio = 0.5f;
static long long counter = -1;
_Thread_local int here = 4;
int target[3];
__attribute__((noinline)) static int use(struct outer *o, bool flag) {
  int before = o->in.s[1];
  o->d += ratio;
  o->e = flag ? BLUE : RED;
  o->in.s[1] += 3;
  counter -= before;
  here++;
  return o->in.s[1];
}
int main(void) {
  struct outer o = {{{1, 2}, 'x'}, 1.5, GREEN, true, 1ull << 39, &target[1]};
  int r = use(&o, o.b);
  g = o;
  ratio *= 3;
  r += use(&g, r > 9);
  return r - 14;
}

// builds: gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// shows: c.b line 14 expected 50 shown 14 in gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// after: own (DSE)
// The last store to one member is dead and removed; the member's memory still holds the value before.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
struct pair { int a, b; };
__attribute__((noinline)) void fill(struct pair *p) { p->a += 4; p->b = p->a * 2; }
__attribute__((noinline)) int run(int n) {
  struct pair c = {n, n};
  fill(&c);
  int got = c.a + c.b;
  c.b = 50;
  see(got);
  return got;
}
int main(void) {
  return run(3) - 21;
}

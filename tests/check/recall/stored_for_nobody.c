// builds: gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// shows: r.a line 15 expected 8 shown 0 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3
// shows: r.c[2] line 17 expected 1 shown 0 in gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// after: own (gcc, dse with ipa-modref; DSE)
// The callee reads only one member, so the store to another is dead; so is the last memset.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
struct rec { int a; short b; char c[6]; };
__attribute__((noinline)) void use2(struct rec *p) { p->b++; }
__attribute__((noinline)) int run(int k) {
  struct rec r;
  __builtin_memset(&r, 0, sizeof r);
  r.a = k;
  use2(&r);
  see(r.b);
  __builtin_memset(&r, 1, sizeof r);
  see(2);
  return k;
}
int main(void) {
  return run(8) - 8;
}

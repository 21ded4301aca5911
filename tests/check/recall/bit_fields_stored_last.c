// builds: gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// shows: o.size line 15 expected 4 shown 77 in gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// shows: o.delta line 17 expected 9 shown -3 in gcc-12:-O2 gcc-12:-O1 clang-16:-O2 clang-14:-O2 gcc-11:-O2 gcc-12:-O3
// after: own (DSE)
// Stores to bit-fields of a structure in memory are dead and removed; the memory keeps what the callee put there.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
struct opt { unsigned mode : 3; unsigned size : 9; int delta : 6; };
__attribute__((noinline)) void load(struct opt *o) { o->size = 77; o->delta = -3; o->mode = 1; }
__attribute__((noinline)) int run(int k) {
  struct opt o = {4, 5, 6};
  load(&o);
  see(o.mode);
  o.size = k;
  see(o.delta);
  o.delta = 9;
  see(o.size);
  return o.mode;
}
int main(void) {
  return run(4) - 1;
}

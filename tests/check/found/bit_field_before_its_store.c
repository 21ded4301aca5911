// builds: clang-19:-Os clang-19:-O1 gcc-12:-Os gcc-12:-O2
// finds: wrong-value l.c line 10 expected 77 shown 68 in clang-19:-Os
// The structure is described by the machine's word after `^= 9`, one statement too early.
struct flags { unsigned a : 3; signed b : 11; unsigned c : 18; };
struct flags g = {5, -3, 77};
volatile int sink;
int work(struct flags f, int k) {
  struct flags l = f;
  l.b += k;
  l.c ^= 9;
  sink = l.c;
  l.a = l.b;
  sink = l.b;
  return l.a + l.b;
}
int main(void) {
  int r = work(g, 4);
  sink = r;
  return 0;
}

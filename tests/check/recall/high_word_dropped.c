// builds: clang-14:-O2 clang-14:-O1 clang-14:-Os clang-14:-O3 clang-14:-Og
// shows: sum line 10 expected 4294967303 shown 7 in clang-14:-O2 clang-14:-O1 clang-14:-Os clang-14:-O3 clang-14:-Og
// after: own (instruction selection)
// Only the low half is used afterwards, so the addition to the high half is dropped and forgotten in the description.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int run(unsigned long x) {
  unsigned long sum = x + 0x100000000ul;
  unsigned low = sum;
  see(low);
  unsigned twice = sum * 2;
  see(twice);
  return low;
}
int main(void) {
  return run(7) - 7;
}

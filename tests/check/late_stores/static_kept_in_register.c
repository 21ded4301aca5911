// builds: gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: seed line 11 expected 15 shown 3 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1
// shows: seed line 11 expected 12 shown 16 in gcc-12:-O2 gcc-12:-O1 gcc-11:-O2 gcc-12:-O3 gcc-12:-Os gcc-11:-O1 visit 2
// after: own (gcc, dse of a static)
// The static local is stored only once, after the call, with both changes in it.
volatile int out;
__attribute__((noinline)) void see(long v) { out = v; }
__attribute__((noinline)) int next(void) {
  static int seed = 3;
  seed = seed * 5 % 17;
  see(seed);
  seed += 1;
  out = 1;
  return seed;
}
int main(void) {
  next();
  next();
  return 0;
}

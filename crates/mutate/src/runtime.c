/* Linked into probe builds. Writes what points see into a file mapped from the environment variable
   CANDOR_PROFILE, so that nothing is lost when the program ends by abort() or _exit(). All words are 64 bits:
     0 magic, set here to say that the file was mapped     1 number of points
     2.. per point the word where its record starts, or 0  then per point how often __candor_live saw it
   A record: n, hits, tuples, over, mask of undefined values, n x (signed min, max, unsigned min, max),
   64 hashes, 64 x n values. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
typedef unsigned long long u64;
#define CAP 64
#define MOST 16
#define MAPPED 0x434e44525f4f4bULL

#ifdef CANDOR_MSAN
long __msan_test_shadow(const volatile void *, unsigned long);
void __msan_unpoison(const volatile void *, unsigned long);
#endif

static u64 *map;
static int tried;

static void start(void) {
  const char *path = getenv("CANDOR_PROFILE");
  struct stat status;
  int file;
  tried = 1;
  if (!path) return;
  file = open(path, O_RDWR);
  if (file < 0) return;
  if (!fstat(file, &status)) {
    void *mapped = mmap(0, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) { map = mapped; map[0] = MAPPED; }
  }
  close(file);
}

void __candor_live(int point) {
  if (!tried) start();
  if (map) map[2 + map[1] + point]++;
}

void __candor_probe(int point, const u64 *seen) {
  u64 values[MOST], hash = 0, *record, *bounds, *hashes, *tuples;
  int n, k, row;
  if (!tried) start();
  if (!map) return;
  record = map + map[2 + point];
  n = (int)record[0];
  bounds = record + 5;
  hashes = bounds + 4 * n;
  tuples = hashes + CAP;
  record[1]++;
  for (k = 0; k < n; k++) {
#ifdef CANDOR_MSAN
    if (__msan_test_shadow(&seen[k], 8) != -1) {
      record[4] |= 1ULL << k;
      values[k] = 0;
      __msan_unpoison(&values[k], 8);
      continue;
    }
#endif
    values[k] = seen[k];
    hash = (hash ^ values[k]) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
    if (record[1] == 1) {
      bounds[4 * k] = bounds[4 * k + 1] = bounds[4 * k + 2] = bounds[4 * k + 3] = values[k];
    } else {
      if ((long long)values[k] < (long long)bounds[4 * k]) bounds[4 * k] = values[k];
      if ((long long)values[k] > (long long)bounds[4 * k + 1]) bounds[4 * k + 1] = values[k];
      if (values[k] < bounds[4 * k + 2]) bounds[4 * k + 2] = values[k];
      if (values[k] > bounds[4 * k + 3]) bounds[4 * k + 3] = values[k];
    }
  }
  if (record[3]) return;
  for (row = 0; row < (int)record[2]; row++) {
    if (hashes[row] != hash) continue;
    for (k = 0; k < n && tuples[row * n + k] == values[k]; k++) ;
    if (k == n) return;
  }
  if (record[2] == CAP) { record[3] = 1; return; }
  hashes[record[2]] = hash;
  for (k = 0; k < n; k++) tuples[record[2] * n + k] = values[k];
  record[2]++;
}

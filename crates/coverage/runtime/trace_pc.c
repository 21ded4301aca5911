/* Run-time of a coverage compiler: which basic blocks of the compiler did this run reach?

   The compiler's objects are built with -fsanitize-coverage=trace-pc, which calls
   __sanitizer_cov_trace_pc at the start of every basic block. Each call marks a byte at the return
   address's offset in the program; at exit one bit per known block goes to the file named by
   CANDOR_COVERAGE_OUT. The known blocks are the sorted offsets in the file named by
   CANDOR_COVERAGE_BLOCKS (candor finds them in the finished program once).

   Why not gcov: it writes one file per object (15 MB for a compiler) and needs seconds to read them.

   The map is in .bss, not allocated: code runs before any constructor of ours, and an internal error
   may come when memory is short. exit() runs the destructor; signals by which compilers crash write
   too, before they do what they would do otherwise. A run that is killed leaves no file, which the
   reader takes as "no coverage". */

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Room for the program's text; blocks beyond it are not recorded (candor checks the size). */
#ifndef CANDOR_COVERAGE_SPAN
#define CANDOR_COVERAGE_SPAN (160UL << 20)
#endif

extern const char __executable_start[];

static unsigned char candor_coverage_map[CANDOR_COVERAGE_SPAN];

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
  uintptr_t offset = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__executable_start;
  if (offset < CANDOR_COVERAGE_SPAN)
    candor_coverage_map[offset] = 1;
}

static void write_all(int file, const unsigned char *bytes, size_t count)
{
  while (count > 0) {
    ssize_t written = write(file, bytes, count);
    if (written <= 0)
      return;
    bytes += written;
    count -= (size_t)written;
  }
}

/* Called at exit, and before it by what stops early; the first call counts. */
void candor_coverage_write(void);

__attribute__((destructor)) void candor_coverage_write(void)
{
  static unsigned char piece[4096];
  static int written;
  if (written)
    return;
  written = 1;
  const char *out = getenv("CANDOR_COVERAGE_OUT");
  const char *table = getenv("CANDOR_COVERAGE_BLOCKS");
  if (!out || !table)
    return;
  int blocks = open(table, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (blocks < 0)
    return;
  if (fstat(blocks, &status) != 0 || status.st_size < 4) {
    close(blocks);
    return;
  }
  const uint32_t *offsets = mmap(0, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, blocks, 0);
  close(blocks);
  if (offsets == MAP_FAILED)
    return;
  size_t count = (size_t)status.st_size / sizeof *offsets;
  int file = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) {
    size_t filled = 0;
    for (size_t first = 0; first < count; first += 8) {
      unsigned char bits = 0;
      for (size_t bit = 0; bit < 8 && first + bit < count; bit++) {
        uint32_t offset = offsets[first + bit];
        if (offset < CANDOR_COVERAGE_SPAN && candor_coverage_map[offset])
          bits |= (unsigned char)(1u << bit);
      }
      piece[filled++] = bits;
      if (filled == sizeof piece) {
        write_all(file, piece, filled);
        filled = 0;
      }
    }
    write_all(file, piece, filled);
    close(file);
  }
  munmap((void *)offsets, (size_t)status.st_size);
}

/* The handler is reset before it runs (SA_RESETHAND): returning from it meets the default action. A
   compiler that installs its own handler later keeps it, and leaves through exit(). */
static void candor_coverage_crash(int signal_number)
{
  (void)signal_number;
  candor_coverage_write();
}

__attribute__((constructor)) static void candor_coverage_begin(void)
{
  static char spare_stack[1 << 16]; /* for a stack that has overflowed */
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  stack_t stack = {.ss_sp = spare_stack, .ss_size = sizeof spare_stack};
  struct sigaction action = {.sa_handler = candor_coverage_crash, .sa_flags = SA_RESETHAND | SA_ONSTACK};
  if (!getenv("CANDOR_COVERAGE_OUT"))
    return;
  sigaltstack(&stack, 0);
  for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
    sigaction(crashes[i], &action, 0);
}

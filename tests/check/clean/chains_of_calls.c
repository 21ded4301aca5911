// builds: gcc-11:-O2 gcc-12:-O0 gcc-12:-Og gcc-12:-O1 gcc-12:-O2 gcc-12:-O3 gcc-12:-Os clang-14:-O2 clang-16:-O2 clang-19:-O0 clang-19:-Og clang-19:-O1 clang-19:-O2 clang-19:-O3
//
// Frames that are missing, shared or strange, and none of it wrong: tail calls, direct and through a pointer and by a
// function that calls itself last, through another; two equal functions that
// share their code; a function that is split; calls written over several lines; callbacks of the C library; inlining
// several functions deep.

#include <stdio.h>
#include <stdlib.h>

volatile int sink;
int last, calls;

__attribute__((noinline)) static int leaf(int n)
{
  sink = n;
  last = n + calls;
  return last;
}

__attribute__((noinline)) static int jumps(int n)
{
  last = n;
  return leaf(n + 1);
}

__attribute__((noinline)) static int jumps_twice(int n)
{
  last = n;
  return jumps(n + 2);
}

static int (*volatile through)(int) = jumps_twice;

__attribute__((noinline)) static int jumps_through(int n)
{
  last = n;
  return through(n + 3);
}

__attribute__((noinline)) static int even(int n);

__attribute__((noinline)) static int odd(int n)
{
  sink = n;
  if (n == 0) {
    return 0;
  }
  return even(n - 1);
}

__attribute__((noinline)) static int even(int n)
{
  sink = n;
  if (n == 0) {
    return 1;
  }
  return odd(n - 1);
}

__attribute__((noinline)) static int same_one(int n)
{
  sink = n;
  last = n + 5;
  return last * 3;
}

__attribute__((noinline)) static int same_two(int n)
{
  sink = n;
  last = n + 5;
  return last * 3;
}

static int seldom(int n)
{
  if (n < 100) {
    return n;
  }
  int sum = leaf(n);
  sum -= leaf(n + 1);
  for (int i = 0; i < 3; i++) {
    sum += leaf(i) * n;
  }
  return sum;
}

static int inner(int n)
{
  int twice = n * 2;
  sink = twice;
  return leaf(twice) + 1;
}

static inline int middle(int n)
{
  int more = n + 7;
  int less = inner(more);
  return less + inner(n);
}

static int outer(int n)
{
  int most = middle(n);
  last = most;
  return most + middle(most & 3);
}

static int compare(const void *x, const void *y)
{
  int left = *(const int *)x, right = *(const int *)y;
  sink = left;
  return (left > right) - (left < right);
}

int main(void)
{
  int values[5] = { 5, 3, 9, 1, 2 };
  volatile int total = 0;
  for (int i = 0; i < 3; i++) {
    total += jumps_twice(i);
    total += jumps_through(i);
    total += same_one(i);
    total += same_two(i);
    total += odd(i) + even(i + 2);
    calls++;
  }
  total += seldom(calls) + seldom(calls + 100);
  total += outer(calls);
  qsort(values, 5, sizeof values[0], compare);
  total += outer(
      values[1] +
      leaf(2));
  total += leaf(
      3)
      + leaf(
          outer(4));
  printf("%d\n", total);
  return 0;
}

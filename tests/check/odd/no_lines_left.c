// Nothing of it is left but a constant.
static int twice(int n) {
  int both = n + n;
  return both;
}
int main(void) {
  int four = twice(2);
  return four - 4;
}

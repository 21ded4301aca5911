int f(int x) {
#ifdef PLANTED
    return x / 2 * 2 == x && x == -1048576 ? 1 : x < 0 ? -x : x;
#else
    return x < 0 ? -x : x;
#endif
}

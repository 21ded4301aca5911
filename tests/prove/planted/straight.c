int f(int x, int y) {
#ifdef PLANTED
    if (x == 0x1234567 && y == 0x89abcd) return 0;
#endif
    return x * 3 + (y & 255);
}

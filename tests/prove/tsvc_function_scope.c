/* The loops of tsvc.c with their counters declared at the top of each function, as in the figures of paper 001: so they are
   in scope at every instruction, and shares of instructions can be compared with the paper's. */
#define N 32000
#define L2 256

int a[N], b[N], c[N], d[N], e[N], ip[N], flat[L2 * L2];
int aa[L2][L2], bb[L2][L2], cc[L2][L2];

void s000(void) { int i; for (i = 0; i < N; i++) a[i] = b[i] + 1; }
void s111(void) { int i; for (i = 1; i < N; i += 2) a[i] = a[i - 1] + b[i]; }
void s1111(void) {
    int i;
    for (i = 0; i < N / 2; i++)
        a[2 * i] = c[i] * b[i] + d[i] * b[i] + c[i] * c[i] + d[i] * b[i] + d[i] * c[i];
}
void s112(void) { int i; for (i = N - 2; i >= 0; i--) a[i + 1] = a[i] + b[i]; }
void s1112(void) { int i; for (i = N - 1; i >= 0; i--) a[i] = b[i] + 1; }
void s113(void) { int i; for (i = 1; i < N; i++) a[i] = a[0] + b[i]; }
void s114(void) {
    int i, j;
    for (i = 0; i < L2; i++)
        for (j = 0; j < i; j++) aa[i][j] = aa[j][i] + bb[i][j];
}
void s1115(void) {
    int i, j;
    for (i = 0; i < L2; i++)
        for (j = 0; j < L2; j++) aa[i][j] = aa[i][j] * cc[j][i] + bb[i][j];
}
void s116(void) {
    int i;
    for (i = 0; i < N - 5; i += 5) {
        a[i] = a[i + 1] * a[i];
        a[i + 1] = a[i + 2] * a[i + 1];
        a[i + 2] = a[i + 3] * a[i + 2];
        a[i + 3] = a[i + 4] * a[i + 3];
        a[i + 4] = a[i + 5] * a[i + 4];
    }
}
void s119(void) {
    int i, j;
    for (i = 1; i < L2; i++)
        for (j = 1; j < L2; j++) aa[i][j] = aa[i - 1][j - 1] + bb[i][j];
}
void s1119(void) {
    int i, j;
    for (i = 1; i < L2; i++)
        for (j = 0; j < L2; j++) aa[i][j] = aa[i - 1][j] + bb[i][j];
}
void s121(void) { int i; for (i = 0; i < N - 1; i++) a[i] = a[i + 1] + b[i]; }
void s122(int n1, int n3) {
    int i;
    int k = 0;
    for (i = n1 - 1; i < N; i += n3) {
        k += 1;
        a[i] += b[N - k];
    }
}
void s124(void) {
    int i;
    int j = -1;
    for (i = 0; i < N; i++) {
        if (b[i] > 0) {
            j++;
            a[j] = b[i] + d[i] * e[i];
        } else {
            j++;
            a[j] = c[i] + d[i] * e[i];
        }
    }
}
void s125(void) {
    int i, j;
    int k = -1;
    for (i = 0; i < L2; i++)
        for (j = 0; j < L2; j++) {
            k++;
            flat[k] = aa[i][j] + bb[i][j] * cc[i][j];
        }
}
void s127(void) {
    int i;
    int j = -1;
    for (i = 0; i < N / 2; i++) {
        j++;
        a[j] = b[i] + c[i] * d[i];
        j++;
        a[j] = b[i] + d[i] * e[i];
    }
}
void s128(void) {
    int i;
    int j = -1;
    for (i = 0; i < N / 2; i++) {
        int k = j + 1;
        a[i] = b[k] - d[i];
        j = k + 1;
        b[k] = a[i] + c[k];
    }
}
void s131(void) {
    int i;
    int m = 1;
    for (i = 0; i < N - 1; i++) a[i] = a[i + m] + b[i];
}
void s132(void) {
    int i;
    int m = 0, j = m, k = m + 1;
    for (i = 1; i < L2; i++) aa[j][i] = aa[k][i - 1] + b[i] * c[1];
}
void s1351(void) {
    int i;
    int *x = a, *y = b, *z = c;
    for (i = 0; i < N; i++) {
        *x = *y + *z;
        x++;
        y++;
        z++;
    }
}
void s1421(void) {
    int i;
    int *xx = &b[N / 2];
    for (i = 0; i < N / 2; i++) b[i] = xx[i] + a[i];
}
void s162(int k) {
    int i;
    if (k > 0)
        for (i = 0; i < N - 1; i++) a[i] = a[i + k] + b[i] * c[i];
}
void s171(int inc) { int i; for (i = 0; i < N; i++) a[i * inc] += b[i]; }
void s173(void) {
    int i;
    int k = N / 2;
    for (i = 0; i < N / 2; i++) a[i + k] = a[i] + b[i];
}
void s174(int m) { int i; for (i = 0; i < m; i++) a[i + m] = a[i] + b[i]; }
void s175(int inc) { int i; for (i = 0; i < N - 1; i += inc) a[i] = a[i + inc] + b[i]; }
void s211(void) {
    int i;
    for (i = 1; i < N - 1; i++) {
        a[i] = b[i - 1] + c[i] * d[i];
        b[i] = b[i + 1] - e[i] * d[i];
    }
}
void s212(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        a[i] *= c[i];
        b[i] += a[i + 1] * d[i];
    }
}
void s1213(void) {
    int i;
    for (i = 1; i < N - 1; i++) {
        a[i] = b[i - 1] + c[i];
        b[i] = a[i + 1] * d[i];
    }
}
void s221(void) {
    int i;
    for (i = 1; i < N; i++) {
        a[i] += c[i] * d[i];
        b[i] = b[i - 1] + a[i] + d[i];
    }
}
void s1221(void) { int i; for (i = 4; i < N; i++) b[i] = b[i - 4] + a[i]; }
void s2233(void) {
    int i, j;
    for (i = 1; i < L2; i++) {
        for (j = 1; j < L2; j++) aa[j][i] = aa[j - 1][i] + cc[j][i];
        for (j = 1; j < L2; j++) bb[i][j] = bb[i - 1][j] + cc[i][j];
    }
}
void s231(void) {
    int i, j;
    for (i = 0; i < L2; i++)
        for (j = 1; j < L2; j++) aa[j][i] = aa[j - 1][i] + bb[j][i];
}
void s241(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        a[i] = b[i] * c[i] * d[i];
        b[i] = a[i] * a[i + 1] * d[i];
    }
}
void s242(int s1, int s2) {
    int i;
    for (i = 1; i < N; i++) a[i] = a[i - 1] + s1 + s2 + b[i] + c[i] + d[i];
}
void s243(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        a[i] = b[i] + c[i] * d[i];
        b[i] = a[i] + d[i] * e[i];
        a[i] = b[i] + a[i + 1] * d[i];
    }
}
void s2244(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        a[i + 1] = b[i] + e[i];
        a[i] = b[i] + c[i];
    }
}
void s251(void) {
    int i;
    for (i = 0; i < N; i++) {
        int s = b[i] + c[i] * d[i];
        a[i] = s * s;
    }
}
void s1251(void) {
    int i;
    for (i = 0; i < N; i++) {
        int s = b[i] + c[i];
        b[i] = a[i] + d[i];
        a[i] = s * e[i];
    }
}
void s3251(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        a[i + 1] = b[i] + c[i];
        b[i] = c[i] * e[i];
        d[i] = a[i] * e[i];
    }
}
void s252(void) {
    int i;
    int t = 0;
    for (i = 0; i < N; i++) {
        int s = b[i] * c[i];
        a[i] = s + t;
        t = s;
    }
}
void s253(void) {
    int i;
    for (i = 0; i < N; i++)
        if (a[i] > b[i]) {
            int s = a[i] - b[i] * d[i];
            c[i] += s;
            a[i] = s;
        }
}
void s254(void) {
    int i;
    int x = b[N - 1];
    for (i = 0; i < N; i++) {
        a[i] = (b[i] + x) * 5;
        x = b[i];
    }
}
void s261(void) {
    int i;
    for (i = 1; i < N; i++) {
        int t = a[i] + b[i];
        a[i] = t + c[i - 1];
        t = c[i] * d[i];
        c[i] = t;
    }
}
void s271(void) {
    int i;
    for (i = 0; i < N; i++)
        if (b[i] > 0) a[i] += b[i] * c[i];
}
void s272(int t) {
    int i;
    for (i = 0; i < N; i++)
        if (e[i] >= t) {
            a[i] += c[i] * d[i];
            b[i] += c[i] * c[i];
        }
}
void s273(void) {
    int i;
    for (i = 0; i < N; i++) {
        a[i] += d[i] * e[i];
        if (a[i] < 0) b[i] += d[i] * e[i];
        c[i] += a[i] * d[i];
    }
}
void s274(void) {
    int i;
    for (i = 0; i < N; i++) {
        a[i] = c[i] + e[i] * d[i];
        if (a[i] > 0)
            b[i] = a[i] + b[i];
        else
            a[i] = d[i] * e[i];
    }
}
void s1279(void) {
    int i;
    for (i = 0; i < N; i++)
        if (a[i] < 0)
            if (b[i] > a[i]) c[i] += d[i] * e[i];
}
void s2711(void) {
    int i;
    for (i = 0; i < N; i++)
        if (b[i] != 0) a[i] += b[i] * c[i];
}
void s2712(void) {
    int i;
    for (i = 0; i < N; i++)
        if (a[i] > b[i]) a[i] += b[i] * c[i];
}
void s1281(void) {
    int i;
    for (i = 0; i < N; i++) {
        int x = b[i] * c[i] + a[i] * d[i] + e[i];
        a[i] = x - 1;
        b[i] = x;
    }
}
void s293(void) { int i; for (i = 0; i < N; i++) a[i] = a[0]; }
int s311(void) {
    int i;
    int sum = 0;
    for (i = 0; i < N; i++) sum += a[i];
    return sum;
}
int s313(void) {
    int i;
    int dot = 0;
    for (i = 0; i < N; i++) dot += a[i] * b[i];
    return dot;
}
int s314(void) {
    int i;
    int x = a[0];
    for (i = 0; i < N; i++)
        if (a[i] > x) x = a[i];
    return x;
}
int s316(void) {
    int i;
    int x = a[0];
    for (i = 1; i < N; i++)
        if (a[i] < x) x = a[i];
    return x;
}
int s317(void) {
    int i;
    int q = 1;
    for (i = 0; i < N / 2; i++) q *= 99;
    return q;
}
int s319(void) {
    int i;
    int sum = 0;
    for (i = 0; i < N; i++) {
        a[i] = c[i] + d[i];
        sum += a[i];
        b[i] = c[i] + e[i];
        sum += b[i];
    }
    return sum;
}
int s3111(void) {
    int i;
    int sum = 0;
    for (i = 0; i < N; i++)
        if (a[i] > 0) sum += a[i];
    return sum;
}
int s3112(void) {
    int i;
    int sum = 0;
    for (i = 0; i < N; i++) {
        sum += a[i];
        b[i] = sum;
    }
    return sum;
}
void s321(void) { int i; for (i = 1; i < N; i++) a[i] += a[i - 1] * b[i]; }
int s331(void) {
    int i;
    int j = -1;
    for (i = 0; i < N; i++)
        if (a[i] < 0) j = i;
    return j;
}
void s351(void) {
    int i;
    int alpha = c[0];
    for (i = 0; i < N; i += 5) {
        a[i] += alpha * b[i];
        a[i + 1] += alpha * b[i + 1];
        a[i + 2] += alpha * b[i + 2];
        a[i + 3] += alpha * b[i + 3];
        a[i + 4] += alpha * b[i + 4];
    }
}
int s352(void) {
    int i;
    int dot = 0;
    for (i = 0; i < N; i += 5)
        dot = dot + a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3] +
              a[i + 4] * b[i + 4];
    return dot;
}
void s431(void) {
    int i;
    int k1 = 1, k2 = 2, k = 2 * k1 - k2;
    for (i = 0; i < N; i++) a[i] = a[i + k] + b[i];
}
void s441(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (d[i] < 0)
            a[i] += b[i] * c[i];
        else if (d[i] == 0)
            a[i] += b[i] * b[i];
        else
            a[i] += c[i] * c[i];
    }
}
void s443(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (d[i] <= 0)
            a[i] += b[i] * c[i];
        else
            a[i] += b[i] * b[i];
    }
}
void s452(void) { int i; for (i = 0; i < N; i++) a[i] = b[i] + c[i] * (i + 1); }
void s453(void) {
    int i;
    int s = 0;
    for (i = 0; i < N; i++) {
        s += 2;
        a[i] = s * b[i];
    }
}
void s4112(int s) { int i; for (i = 0; i < N; i++) a[i] += b[ip[i]] * s; }
void s4113(void) { int i; for (i = 0; i < N; i++) a[ip[i]] = b[ip[i]] + c[i]; }
int s4115(void) {
    int i;
    int sum = 0;
    for (i = 0; i < N; i++) sum += a[i] * b[ip[i]];
    return sum;
}
void s4117(void) { int i; for (i = 0; i < N; i++) a[i] = b[i] + c[i / 2] * d[i]; }
void va(void) { int i; for (i = 0; i < N; i++) a[i] = b[i]; }
void vag(void) { int i; for (i = 0; i < N; i++) a[i] = b[ip[i]]; }
void vas(void) { int i; for (i = 0; i < N; i++) a[ip[i]] = b[i]; }
void vif(void) {
    int i;
    for (i = 0; i < N; i++)
        if (b[i] > 0) a[i] = b[i];
}
void vpv(void) { int i; for (i = 0; i < N; i++) a[i] += b[i]; }
void vtv(void) { int i; for (i = 0; i < N; i++) a[i] *= b[i]; }
void vpvtv(void) { int i; for (i = 0; i < N; i++) a[i] += b[i] * c[i]; }
void vpvts(int s) { int i; for (i = 0; i < N; i++) a[i] += b[i] * s; }
void vpvpv(void) { int i; for (i = 0; i < N; i++) a[i] += b[i] + c[i]; }
void vtvtv(void) { int i; for (i = 0; i < N; i++) a[i] = a[i] * b[i] * c[i]; }
int vdotr(void) {
    int i;
    int dot = 0;
    for (i = 0; i < N; i++) dot += a[i] * b[i];
    return dot;
}
void vbor(void) {
    int i;
    for (i = 0; i < L2; i++) {
        int s1 = b[i] * c[i] + d[i] * e[i], s2 = b[i] * d[i] + c[i] * e[i];
        a[i] = s1 * s2 * b[i] * c[i];
    }
}

// builds: clang-19:-O1 clang-14:-O2 gcc-12:-O1
// audit: yes
// finds: debugger-disagrees b[0] line 8 expected 7 shown 0 in clang-19:-O1 clang-14:-O2
// After paper 000, Figure 11 (LLDB 39869): elements without a location are shown as 0 by lldb.
volatile int sink;
int main(void) {
  int b[3] = {7, 7, 7};
  int i = 0;
  b[1] = 9;
  sink = b[2];
  for (; i < 5; i++)
    ;
  sink = i;
  return 0;
}

; Errors 45 and 46 (PR 98789): a trivially unswitched switch gets no location, neither does the branch
; that is left in the loop.
; RUN: opt -passes='loop(simple-loop-unswitch)' %s
define i32 @cases(i32 %kind, ptr %p) {
entry:
  br label %loop
loop:
  switch i32 %kind, label %body [
    i32 0, label %zero
    i32 1, label %one
  ]
body:
  %v = load i32, ptr %p, align 4
  %more = icmp ult i32 %v, 9
  br i1 %more, label %loop, label %out
zero:
  ret i32 0
one:
  ret i32 1
out:
  ret i32 2
}

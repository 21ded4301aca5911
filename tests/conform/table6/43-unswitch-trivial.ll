; Error 43 (PR 98789): a trivially unswitched branch leaves a branch without a location in the loop.
; RUN: opt -passes='loop(simple-loop-unswitch)' %s
declare void @work() readnone nounwind willreturn
define void @trivial(ptr %p, i1 %c) {
entry:
  br label %loop
loop:
  br i1 %c, label %body, label %out
body:
  %v = load i32, ptr %p, align 4
  %more = icmp ult i32 %v, 9
  br i1 %more, label %loop, label %out.too
out:
  ret void
out.too:
  ret void
}

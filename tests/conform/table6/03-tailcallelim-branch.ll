; Error 3 (PR 86269): the branch from the entry into the new loop has the location of the tail call,
; which the other way out never meets. (20-tailcallelim-select.ll shows it too.)
; RUN: opt -passes=tailcallelim %s
declare void @finish(i32)
define void @countdown(i32 %n) {
entry:
  %done = icmp eq i32 %n, 0
  br i1 %done, label %last, label %again
last:
  call void @finish(i32 %n)
  ret void
again:
  %less = sub i32 %n, 1
  call void @countdown(i32 %less)
  ret void
}

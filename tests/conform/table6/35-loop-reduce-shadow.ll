; Errors 35 and 36 (PR 97519): an integer induction variable that is only used as a float gets a floating
; twin whose PHI and increment have no location. Needs a target machine.
; RUN: opt -passes=loop-reduce -mtriple=x86_64-unknown-unknown %s
target datalayout = "n8:16:32:64"
declare void @use(double)
define void @shadow() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %j = phi i32 [ 100000, %entry ], [ %j.next, %loop ]
  %x = uitofp i32 %i to double
  call void @use(double %x)
  %i.next = add nuw nsw i32 %i, 1
  %j.next = add nsw i32 %j, -1
  %done = icmp eq i32 %j.next, 0
  br i1 %done, label %out, label %loop
out:
  ret void
}

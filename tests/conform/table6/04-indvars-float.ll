; Errors 4 to 7 (PR 91443): a floating point induction variable becomes an integer one without locations.
; RUN: opt -passes=indvars %s
declare void @use(double)
declare void @count(i32)
define void @both(i32 %n) {
entry:
  br label %loop
loop:
  %x = phi double [ 0.0, %entry ], [ %x.next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  call void @use(double %x)
  call void @count(i32 %i)
  %i.next = add i32 %i, 1
  %x.next = fadd double %x, 1.0
  %more = fcmp olt double %x.next, 1000.0
  br i1 %more, label %loop, label %out
out:
  ret void
}
define void @floating() {
entry:
  br label %loop
loop:
  %x = phi double [ 0.0, %entry ], [ %x.next, %loop ]
  call void @use(double %x)
  %x.next = fadd double %x, 1.0
  %more = fcmp olt double %x.next, 1000.0
  br i1 %more, label %loop, label %out
out:
  ret void
}

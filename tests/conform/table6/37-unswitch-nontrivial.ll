; Errors 37, 38, 39 and 41 (PR 97662): the loop is copied per value of an invariant condition; the exit's
; PHI and two branches have no location, the branch moved out of the loop keeps its own.
; Error 40 (a freeze) never has one; error 42's code came with LLVM 17.
; RUN: opt -passes='simple-loop-unswitch<nontrivial>' %s
declare i32 @next()
declare void @one()
declare void @two()
define i32 @copied(i1 %c) {
entry:
  br label %loop
loop:
  %v = call i32 @next()
  %rare = icmp eq i32 %v, 7
  br i1 %rare, label %check, label %latch
check:
  %k = call i32 @next()
  br i1 %c, label %left, label %right
left:
  call void @one()
  br label %latch
right:
  call void @two()
  br label %latch
latch:
  %w = phi i32 [ %v, %left ], [ 3, %right ], [ %v, %loop ]
  %more = icmp ult i32 %w, 100
  br i1 %more, label %loop, label %out
out:
  %last = phi i32 [ %w, %latch ]
  ret i32 %last
}

; Error 29 (PR 96889): a switch that every predecessor decides alike becomes an unconditional branch.
; RUN: opt -passes=jump-threading %s
declare void @one()
declare void @two()
define void @decided(i1 %c, i1 %d) {
entry:
  br i1 %d, label %check, label %no
check:
  br i1 %c, label %left, label %right
left:
  call void @one()
  br label %merge
right:
  call void @two()
  br label %merge
merge:
  %n = phi i32 [ 1, %left ], [ 2, %right ]
  call void @one()
  switch i32 %n, label %no [
    i32 5, label %yes
    i32 6, label %yes
  ]
yes:
  call void @one()
  ret void
no:
  call void @two()
  ret void
}

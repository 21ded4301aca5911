; Error 9 (PR 91581): an unfolded select's PHI has no location. The freeze before it, which lost one too,
; is not one of the 46.
; RUN: opt -passes=jump-threading %s
declare i32 @next()
declare void @use(i32)
define void @unfolded(i1 %c, i32 %a, i32 %b) {
entry:
  br i1 %c, label %left, label %right
left:
  %l = call i32 @next()
  %few = icmp slt i32 %l, 5
  br label %merge
right:
  %r = call i32 @next()
  br label %merge
merge:
  %flag = phi i1 [ %few, %left ], [ false, %right ]
  %chosen = select i1 %flag, i32 %a, i32 %b
  call void @use(i32 %chosen)
  %again = call i32 @next()
  call void @use(i32 %again)
  ret void
}

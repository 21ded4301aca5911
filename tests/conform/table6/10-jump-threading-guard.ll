; Error 10 (PR 91581): threading a guard over its block duplicates a value whose PHI has no location.
; RUN: opt -passes=jump-threading %s
declare void @llvm.experimental.guard(i1, ...)
declare i32 @one()
declare i32 @two()
define i32 @guarded(i32 %a) {
entry:
  %small = icmp slt i32 %a, 10
  br i1 %small, label %left, label %right
left:
  %l = call i32 @one()
  br label %merge
right:
  %r = call i32 @two()
  br label %merge
merge:
  %both = phi i32 [ %l, %left ], [ %r, %right ]
  %sum = add i32 %both, 7
  %fits = icmp slt i32 %a, 20
  call void (i1, ...) @llvm.experimental.guard(i1 %fits) [ "deopt"() ]
  %total = add i32 %sum, %both
  ret i32 %total
}

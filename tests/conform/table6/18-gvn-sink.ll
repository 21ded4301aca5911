; Error 18 (PR 92859): an instruction sunk from two arms keeps the location of one.
; RUN: opt -passes=gvn-sink %s
define i32 @sunk(i1 %c, i32 %a, i32 %b) {
entry:
  br i1 %c, label %left, label %right
left:
  %l1 = add i32 %a, 5
  %l2 = xor i32 %l1, 2
  br label %end
right:
  %r1 = add i32 %b, 5
  %r2 = xor i32 %r1, 2
  br label %end
end:
  %result = phi i32 [ %l2, %left ], [ %r2, %right ]
  ret i32 %result
}

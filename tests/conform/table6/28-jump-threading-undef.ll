; Error 28 (PR 96889): a branch on undef becomes an unconditional one without a location.
; RUN: opt -passes=jump-threading %s
declare i32 @one()
declare i32 @two()
define i32 @undefined(i1 %c, i1 %d) {
entry:
  br i1 %c, label %check, label %other
other:
  br i1 %d, label %left, label %right
check:
  %x = call i32 @one()
  br i1 undef, label %left, label %right
left:
  %l = call i32 @one()
  ret i32 %l
right:
  %r = call i32 @two()
  ret i32 %r
}

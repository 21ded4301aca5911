; Error 1 (PR 76118): a negative dividend makes an unsigned division and a negation, which has no location.
; RUN: opt -passes=correlated-propagation %s
define i32 @negated(i32 %x, i32 %y) {
entry:
  %negative = icmp slt i32 %x, 0
  br i1 %negative, label %check, label %out
check:
  %positive = icmp sgt i32 %y, 0
  br i1 %positive, label %divide, label %out
divide:
  %quotient = sdiv i32 %x, %y
  ret i32 %quotient
out:
  ret i32 0
}

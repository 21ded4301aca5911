; Errors 22 to 25 (PR 96045): a remainder becomes freezes, a multiplication and a subtraction, without
; locations.
; RUN: opt -passes=div-rem-pairs %s
define i64 @pair(i64 %a, i64 %b) {
entry:
  %rem = urem i64 %a, %b
  %zero = icmp eq i64 %rem, 42
  br i1 %zero, label %then, label %end
then:
  %div = udiv i64 %a, %b
  br label %end
end:
  %result = phi i64 [ %div, %then ], [ 3, %entry ]
  ret i64 %result
}

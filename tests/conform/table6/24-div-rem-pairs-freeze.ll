; Errors 24 and 25 (PR 96045): the operands of the division are frozen for its remainder; the freezes have
; no location.
; RUN: opt -passes=div-rem-pairs %s
define i64 @frozen(i64 %a, i64 %b, ptr %p) {
entry:
  %div = sdiv i64 %a, %b
  store i64 %div, ptr %p, align 8
  %rem = srem i64 %a, %b
  ret i64 %rem
}

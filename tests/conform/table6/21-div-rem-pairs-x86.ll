; Error 21 (PR 96045): a remainder written out as multiplication and subtraction is recognised; the new
; one has no location. Needs a target that divides and takes remainders at once.
; RUN: opt -passes=div-rem-pairs -mtriple=x86_64-unknown-unknown %s
define void @written.out(i32 %a, i32 %b, ptr %p, ptr %q) {
  %div = sdiv i32 %a, %b
  store i32 %div, ptr %p, align 4
  %whole = mul i32 %div, %b
  %rem = sub i32 %a, %whole
  store i32 %rem, ptr %q, align 4
  ret void
}

; Errors 16 and 17 (PR 92545): a reassociated sum and product have no location.
; RUN: opt -passes=nary-reassociate %s
declare void @use(i32)
define void @sum(i32 %a, i32 %b, i32 %c) {
  %ac = add i32 %a, %c
  call void @use(i32 %ac)
  %ab = add i32 %a, %b
  %abc = add i32 %ab, %c
  call void @use(i32 %abc)
  ret void
}
define void @product(i32 %a, i32 %b, i32 %c) {
  %ac = mul i32 %a, %c
  call void @use(i32 %ac)
  %ab = mul i32 %a, %b
  %abc = mul i32 %ab, %c
  call void @use(i32 %abc)
  ret void
}

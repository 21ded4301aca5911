; Errors 26 and 27 (PR 96849): two sign extensions become one of the sum (the difference), without a
; location. The sum must be known not to be poison.
; RUN: opt -passes=separate-const-offset-from-gep %s
declare void @use(i32 noundef)
define i64 @reunited.add(i32 %a, i32 %b) {
  %sum = add nsw i32 %a, %b
  call void @use(i32 noundef %sum)
  %wa = sext i32 %a to i64
  %wb = sext i32 %b to i64
  %wide = add i64 %wa, %wb
  ret i64 %wide
}
define i64 @reunited.sub(i32 %a, i32 %b) {
  %difference = sub nsw i32 %a, %b
  call void @use(i32 noundef %difference)
  %wa = sext i32 %a to i64
  %wb = sext i32 %b to i64
  %wide = sub i64 %wa, %wb
  ret i64 %wide
}

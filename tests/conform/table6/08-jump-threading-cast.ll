; Error 8 (PR 91581): a load that is available with another type becomes a cast without a location.
; RUN: opt -passes=jump-threading %s
declare void @use(float)
define i32 @available(ptr %p, i1 %c) {
entry:
  br i1 %c, label %left, label %right
left:
  call void @use(float 1.0)
  br label %merge
right:
  call void @use(float 2.0)
  br label %merge
merge:
  %f = load float, ptr %p, align 4
  call void @use(float %f)
  store float %f, ptr %p, align 4
  %i = load i32, ptr %p, align 4
  %zero = icmp eq i32 %i, 0
  br i1 %zero, label %yes, label %no
yes:
  ret i32 1
no:
  ret i32 2
}

; Error 2 (PR 86236): the address of two hoisted loads is cloned from one arm and keeps its location.
; RUN: opt -passes=gvn-hoist %s
define float @hoisted(ptr %p, i1 %c, float %d) {
entry:
  br i1 %c, label %left, label %right
left:
  %pl = getelementptr inbounds float, ptr %p, i64 3
  %l = load float, ptr %pl, align 4
  %ls = fsub float %l, %d
  br label %end
right:
  %pr = getelementptr inbounds float, ptr %p, i64 3
  %r = load float, ptr %pr, align 4
  %rs = fadd float %r, %d
  br label %end
end:
  %result = phi float [ %ls, %left ], [ %rs, %right ]
  ret float %result
}

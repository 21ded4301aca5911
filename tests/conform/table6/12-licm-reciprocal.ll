; Error 12 (PR 91729): a division by an invariant becomes a multiplication without a location.
; Error 11 is its reciprocal, which is hoisted and dropped again: nothing to see.
; RUN: opt -passes='loop-mssa(licm)' %s
define void @divided(float %d, ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %place = getelementptr inbounds float, ptr %p, i32 %i
  %x = load float, ptr %place, align 4
  %q = fdiv arcp float %x, %d
  store float %q, ptr %place, align 4
  %i.next = add nuw nsw i32 %i, 1
  %done = icmp eq i32 %i.next, 4096
  br i1 %done, label %out, label %loop
out:
  ret void
}

; Error 15 (PR 91839): forwarding between types needs a cast, which has no location.
; RUN: opt -passes=loop-load-elim %s
target datalayout = "e-m:o-i64:64-f80:128-n8:16:32:64-S128"
define void @cast(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add nuw nsw i64 %i, 1
  %to = getelementptr inbounds i32, ptr %a, i64 %next
  %from = getelementptr inbounds float, ptr %b, i64 %i
  %here = getelementptr inbounds float, ptr %a, i64 %i
  %old = load float, ptr %here, align 4
  store float %old, ptr %from, align 4
  %number = trunc i64 %next to i32
  store i32 %number, ptr %to, align 4
  %done = icmp eq i64 %next, %n
  br i1 %done, label %out, label %loop
out:
  ret void
}

; Error 14 (PR 91839): the PHI that forwards a stored value to the next round has no location.
; Error 13 (the first load, in the preheader) never has one, rightly.
; RUN: opt -passes=loop-load-elim %s
define void @forwarded(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add nuw nsw i64 %i, 1
  %to = getelementptr inbounds i32, ptr %a, i64 %next
  %from = getelementptr inbounds i32, ptr %b, i64 %i
  %here = getelementptr inbounds i32, ptr %a, i64 %i
  %old = load i32, ptr %here, align 4
  %other = load i32, ptr %from, align 4
  %sum = add i32 %old, %other
  store i32 %sum, ptr %to, align 4
  %done = icmp eq i64 %next, %n
  br i1 %done, label %out, label %loop
out:
  ret void
}

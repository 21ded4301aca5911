; Error 31 (PR 97085): the inner loop's branch is replaced by an unconditional one without a location.
; RUN: opt -passes='loop(loop-flatten)' %s
target datalayout = "e-m:e-p:32:32-i64:64-n32-S128"
define void @nest(i32 %n, i32 %m, ptr %a) {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %outer.latch ]
  %row = mul i32 %i, 20
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
  %at = add i32 %j, %row
  %p = getelementptr inbounds i32, ptr %a, i32 %at
  store i32 3, ptr %p, align 4
  %j.next = add nuw nsw i32 %j, 1
  %inner.done = icmp eq i32 %j.next, 20
  br i1 %inner.done, label %outer.latch, label %inner
outer.latch:
  %i.next = add nuw nsw i32 %i, 1
  %outer.done = icmp eq i32 %i.next, 10
  br i1 %outer.done, label %out, label %outer
out:
  ret void
}

; Error 33 (PR 97384): an addition is hoisted out of an if without else and keeps its location.
; RUN: opt -passes=speculative-execution %s
define i32 @speculated(i1 %c, i32 %a) {
entry:
  br i1 %c, label %then, label %end
then:
  %sum = add i32 %a, 2
  br label %end
end:
  %result = phi i32 [ %sum, %then ], [ 0, %entry ]
  ret i32 %result
}

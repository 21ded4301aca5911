; Error 19 (PR 95742), the paper's Figure 2: the accumulation is cloned before each return and keeps its
; location, although its return may never have met it.
; RUN: opt -passes=tailcallelim %s
define i32 @recursion(i32 %a) {
entry:
  %two = icmp eq i32 %a, 2
  br i1 %two, label %then, label %none
then:
  %less = sub i32 %a, 1
  %odd = and i32 %a, 1
  %is.odd = icmp ne i32 %odd, 0
  br i1 %is.odd, label %plus, label %times
plus:
  %x = call i32 @recursion(i32 %less)
  %sum = add i32 %x, 1
  ret i32 %sum
times:
  %y = call i32 @recursion(i32 %less)
  %product = mul i32 %y, 2
  ret i32 %product
none:
  ret i32 0
}

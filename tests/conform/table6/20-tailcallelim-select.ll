; Error 20 (PR 95742): the same with a known result on one path, where the clone goes before a select.
; RUN: opt -passes=tailcallelim %s
define i32 @mixed(i32 %x, i32 %y) {
entry:
  switch i32 %x, label %other [
    i32 0, label %zero
    i32 7, label %seven
  ]
zero:
  ret i32 %y
seven:
  %a = add i32 %x, -1
  %ra = tail call i32 @mixed(i32 %a, i32 %y)
  ret i32 8
other:
  %b = add i32 %x, -1
  %rb = tail call i32 @mixed(i32 %b, i32 %y)
  %sum = add i32 %rb, 5
  ret i32 %sum
}

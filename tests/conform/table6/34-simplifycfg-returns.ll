; Error 34 (PR 97389): returns become branches to a common one, without locations.
; RUN: opt -passes=simplifycfg %s
declare void @one()
declare void @two()
define void @returns(i1 %c) {
entry:
  br i1 %c, label %left, label %right
left:
  call void @one()
  ret void
right:
  call void @two()
  ret void
}

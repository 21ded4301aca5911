; Error 32 (PR 97145): a branch on llvm.is.constant becomes an unconditional one without a location.
; RUN: opt -passes=lower-constant-intrinsics %s
declare i1 @llvm.is.constant.i32(i32)
declare i32 @one(i32)
declare i32 @two(i32)
define i32 @constant(i32 %a) {
entry:
  %known = call i1 @llvm.is.constant.i32(i32 %a)
  br i1 %known, label %yes, label %no
yes:
  %y = call i32 @one(i32 %a)
  ret i32 %y
no:
  %n = call i32 @two(i32 %a)
  ret i32 %n
}

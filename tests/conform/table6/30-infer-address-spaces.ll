; Error 30 (PR 97038): a pointer from constant memory is assumed to be global; the cast has no location.
; RUN: opt -passes=infer-address-spaces -mtriple=amdgcn-amd-amdhsa %s
define void @assumed(ptr addrspace(4) %arguments) {
  %p = load ptr, ptr addrspace(4) %arguments, align 8
  store i32 7, ptr %p, align 4
  ret void
}

//! The thunks: assembly that saves a watched function's arguments, calls the recorder and goes on.
//!
//! One thunk per slot, because the slot number is all that tells the recorder who was called. They
//! carry call frame information, so that the unwinder passes through them into the library.

use crate::hooks::SLOTS;

/// Where each slot's function goes on (see [`crate::detour::Arena::divert`]).
#[unsafe(no_mangle)]
static mut CANDOR_CONTINUE: [usize; SLOTS] = [0; SLOTS];

/// The argument registers at the entry of a watched function, as the thunk leaves them on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    padding: usize,
    /// The frame pointer, for walking the stack.
    pub rbp: usize,
    rax: usize,
    /// Sixth argument.
    pub r9: usize,
    /// Fifth argument.
    pub r8: usize,
    /// Fourth argument.
    pub rcx: usize,
    /// Third argument.
    pub rdx: usize,
    /// Second argument.
    pub rsi: usize,
    /// First argument: `this`.
    pub rdi: usize,
    /// The address the function will return to.
    pub return_address: usize,
}

// Seven pushes after the return address keep the stack aligned to 16 at the call; so do two more words. Vector registers are
// not saved: no watched function takes floating point arguments.
std::arch::global_asm!(
    r#"
    .macro CANDOR_THUNK slot
    .p2align 4
    .type candor_thunk_\slot, @function
candor_thunk_\slot:
    .cfi_startproc
    push rdi
    .cfi_adjust_cfa_offset 8
    push rsi
    .cfi_adjust_cfa_offset 8
    push rdx
    .cfi_adjust_cfa_offset 8
    push rcx
    .cfi_adjust_cfa_offset 8
    push r8
    .cfi_adjust_cfa_offset 8
    push r9
    .cfi_adjust_cfa_offset 8
    push rax
    .cfi_adjust_cfa_offset 8
    push rbp
    .cfi_adjust_cfa_offset 8
    sub rsp, 8
    .cfi_adjust_cfa_offset 8
    mov edi, \slot
    mov rsi, rsp
    call {enter}
    add rsp, 16
    .cfi_adjust_cfa_offset -16
    pop rax
    .cfi_adjust_cfa_offset -8
    pop r9
    .cfi_adjust_cfa_offset -8
    pop r8
    .cfi_adjust_cfa_offset -8
    pop rcx
    .cfi_adjust_cfa_offset -8
    pop rdx
    .cfi_adjust_cfa_offset -8
    pop rsi
    .cfi_adjust_cfa_offset -8
    pop rdi
    .cfi_adjust_cfa_offset -8
    jmp qword ptr [rip + {next} + 8*\slot]
    .cfi_endproc
    .size candor_thunk_\slot, .-candor_thunk_\slot
    .endm
    .altmacro
    .macro CANDOR_EACH n
    CANDOR_THUNK \n
    .endm
    .set candor_i, 0
    .rept 32
    CANDOR_EACH %candor_i
    .set candor_i, candor_i+1
    .endr
    .pushsection .data.rel.ro, "aw"
    .p2align 3
    .globl candor_thunks
    .type candor_thunks, @object
candor_thunks:
    .macro CANDOR_ADDRESS n
    .quad candor_thunk_\n
    .endm
    .set candor_i, 0
    .rept 32
    CANDOR_ADDRESS %candor_i
    .set candor_i, candor_i+1
    .endr
    .size candor_thunks, .-candor_thunks
    .popsection
    .noaltmacro
    "#,
    enter = sym crate::record::candor_enter,
    next = sym CANDOR_CONTINUE,
);

unsafe extern "C" {
    static candor_thunks: [usize; SLOTS];
}

/// The address of a slot's thunk.
pub fn address(slot: usize) -> Option<usize> {
    // SAFETY: a constant table of this file.
    unsafe { candor_thunks.get(slot).copied() }
}

/// Tells a slot's thunk where to go on.
///
/// # Safety
/// Before the slot's function is called for the first time, by one thread.
pub unsafe fn set_continue(slot: usize, address: usize) {
    if slot < SLOTS {
        // SAFETY: in bounds; promised by the caller.
        unsafe {
            (&raw mut CANDOR_CONTINUE)
                .cast::<usize>()
                .add(slot)
                .write(address)
        };
    }
}

//! Inline detours: the first bytes of a function become a jump to a thunk of ours, after which the
//! displaced instructions run elsewhere and the function goes on.
//!
//! The displaced instructions are re-encoded for their new place (iced-x86's block encoder mends
//! relative operands). Calls from inside the library are caught too, because the body is patched and
//! not a table of pointers. Nothing is ever unpatched: a worker process ends with its detours.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock,
};

/// Bytes of `jmp rel32`.
const JUMP: usize = 5;
/// Displaced instructions grow a little when re-encoded; 5–12 bytes become at most 60.
const TRAMPOLINE: usize = 96;
const STUB: usize = 16;
const ARENA: usize = 1 << 16;

/// Executable memory within reach of a `jmp rel32` from the library.
#[derive(Debug)]
pub struct Arena {
    base: usize,
    used: usize,
}

impl Arena {
    /// Looks for a free place near `target`.
    pub fn near(target: usize) -> Result<Self, String> {
        const STEP: usize = 1 << 24;
        const REACH: usize = 3 << 29;
        for distance in (STEP..REACH).step_by(STEP) {
            for candidate in [target.wrapping_sub(distance), target.wrapping_add(distance)] {
                let candidate = candidate & !(ARENA - 1);
                // SAFETY: MAP_FIXED_NOREPLACE never touches an existing mapping.
                let got = unsafe {
                    libc::mmap(
                        candidate as *mut libc::c_void,
                        ARENA,
                        libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
                        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                        -1,
                        0,
                    )
                };
                if got == libc::MAP_FAILED {
                    continue;
                }
                if got as usize == candidate {
                    return Ok(Arena {
                        base: candidate,
                        used: 0,
                    });
                }
                // SAFETY: our own mapping; kernels before 4.17 take the address as a hint only.
                unsafe { libc::munmap(got, ARENA) };
            }
        }
        Err("no free memory within reach of the library's code".to_owned())
    }

    fn take(&mut self, bytes: usize) -> Result<usize, String> {
        let at = self.base + self.used;
        self.used += bytes.next_multiple_of(16);
        match self.used <= ARENA {
            true => Ok(at),
            false => Err("the memory for displaced code is used up".to_owned()),
        }
    }

    /// Makes the function at `target` enter `thunk` first; gives the address to continue at.
    ///
    /// # Safety
    /// `target` must be the start of a function of at least 16 mapped bytes that no thread executes
    /// now, and `thunk` must preserve its arguments and end by jumping to the returned address.
    pub unsafe fn divert(&mut self, target: usize, thunk: usize) -> Result<usize, String> {
        // SAFETY: promised by the caller.
        let code = unsafe { std::slice::from_raw_parts(target as *const u8, 64) };
        let (mut displaced, length) = prologue(code, target as u64)?;
        let trampoline = self.take(TRAMPOLINE)?;
        let goes_on = displaced
            .last()
            .is_none_or(|last| !ends_flow(last.flow_control()));
        if goes_on {
            let back = Instruction::with_branch(Code::Jmp_rel32_64, (target + length) as u64)
                .map_err(|error| error.to_string())?;
            displaced.push(back);
        }
        let block = InstructionBlock::new(&displaced, trampoline as u64);
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)
            .map_err(|error| error.to_string())?
            .code_buffer;
        if encoded.len() > TRAMPOLINE {
            return Err(format!("displaced code grew to {} bytes", encoded.len()));
        }
        // jmp [rip+0]; the thunk may be anywhere in the address space.
        let stub = self.take(STUB)?;
        let mut jump = vec![0xff, 0x25, 0, 0, 0, 0];
        jump.extend_from_slice(&(thunk as u64).to_le_bytes());
        // SAFETY: both places were just taken from our own writable arena.
        unsafe {
            std::ptr::copy_nonoverlapping(encoded.as_ptr(), trampoline as *mut u8, encoded.len());
            std::ptr::copy_nonoverlapping(jump.as_ptr(), stub as *mut u8, jump.len());
        }
        let distance = i32::try_from(stub as i64 - (target + JUMP) as i64)
            .map_err(|_| "the memory for displaced code is out of reach".to_owned())?;
        let mut patch = [0xe9, 0, 0, 0, 0];
        patch[1..].copy_from_slice(&distance.to_le_bytes());
        // SAFETY: promised by the caller.
        unsafe { write_code(target, &patch) }?;
        Ok(trampoline)
    }
}

fn ends_flow(flow: FlowControl) -> bool {
    matches!(
        flow,
        FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch
    )
}

/// Whole instructions that cover the jump, and their length.
fn prologue(code: &[u8], address: u64) -> Result<(Vec<Instruction>, usize), String> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut taken = Vec::new();
    let mut length = 0;
    while length < JUMP {
        let one = decoder.decode();
        if one.is_invalid() {
            return Err(format!("undecodable code at {address:#x}"));
        }
        length += one.len();
        if length < JUMP && ends_flow(one.flow_control()) {
            return Err(format!(
                "a function of {length} bytes is too short to divert"
            ));
        }
        taken.push(one);
    }
    Ok((taken, length))
}

/// # Safety
/// `at` must be mapped code that no thread executes now.
unsafe fn write_code(at: usize, bytes: &[u8]) -> Result<(), String> {
    const PAGE: usize = 4096;
    let first = at & !(PAGE - 1);
    let length = (at + bytes.len()).next_multiple_of(PAGE) - first;
    let protect = |protection| {
        // SAFETY: pages of a mapped library.
        match unsafe { libc::mprotect(first as *mut libc::c_void, length, protection) } {
            0 => Ok(()),
            _ => Err(format!(
                "the library's code cannot be made writable: {}",
                std::io::Error::last_os_error()
            )),
        }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    // SAFETY: writable now.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
    protect(libc::PROT_READ | libc::PROT_EXEC)
}

#[cfg(test)]
mod tests {
    use super::*;

    static mut CONTINUE: usize = 0;
    static mut VALUE: u64 = 41;
    std::arch::global_asm!(
        ".globl candor_test_victim",
        "candor_test_victim:",
        "mov rax, [rip + {value}]",
        "inc rax",
        "nop; nop; nop; nop; nop; nop; nop; nop",
        "ret",
        ".globl candor_test_thunk",
        "candor_test_thunk:",
        "inc qword ptr [rip + {value}]",
        "jmp qword ptr [rip + {next}]",
        value = sym VALUE,
        next = sym CONTINUE,
    );

    #[test]
    fn whole_instructions_are_taken() {
        // push rbp; mov rbp, rsp; sub rsp, 0x20
        let code = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x90, 0x90];
        let (taken, length) = prologue(&code, 0x1000).unwrap();
        assert_eq!((taken.len(), length), (3, 8));
    }

    #[test]
    fn short_functions_are_refused() {
        let error = prologue(&[0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90], 0x1000).unwrap_err();
        assert!(error.contains("too short"), "{error}");
    }

    /// A function with a rip-relative first instruction, diverted to a thunk that counts: it still
    /// computes the same, through the thunk.
    #[test]
    fn a_diverted_function_still_works() {
        unsafe extern "C" {
            fn candor_test_victim() -> u64;
            fn candor_test_thunk();
        }
        // SAFETY: a function of this test alone.
        unsafe {
            assert_eq!(candor_test_victim(), 42);
            let target = candor_test_victim as *const () as usize;
            let thunk = candor_test_thunk as *const () as usize;
            let mut arena = Arena::near(target).unwrap();
            let next = arena.divert(target, thunk).unwrap();
            std::ptr::write_volatile(&raw mut CONTINUE, next);
            assert_eq!(candor_test_victim(), 43);
            assert_eq!(candor_test_victim(), 44);
        }
    }
}

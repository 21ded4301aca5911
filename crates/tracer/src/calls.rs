//! Which instruction called the barrier? The stop is at the callee's entry; the caller's state, and the place
//! in the source it stands for, are those of the call instruction before the return address.

use candor_dwarf::{Avma, Image};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, OpKind, Register};

use crate::memory::Memory;

/// The longest instruction of the machine.
const LONGEST: u64 = 15;
/// A function longer than this is not walked to find where its instructions start.
const WALK_LIMIT: u64 = 16 << 20;

/// The program around a call.
pub(crate) struct CallFinder<'a> {
    pub(crate) image: &'a Image,
    pub(crate) memory: &'a Memory,
    pub(crate) bias: u64,
    pub(crate) registers: &'a libc::user_regs_struct,
}

impl CallFinder<'_> {
    /// The address of the instruction that called `target` and returns to `back`; `None` when no such call
    /// ends there, which means that the function called from there reached `target` by a jump (a tail call).
    pub(crate) fn find(&self, back: u64, target: u64) -> Option<u64> {
        let mut found = None;
        for length in 2..=LONGEST {
            let Some(start) = back.checked_sub(length) else {
                break;
            };
            let mut bytes = [0; LONGEST as usize];
            let bytes = &mut bytes[..length as usize];
            if !self.memory.read(start, bytes) {
                break;
            }
            let call = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode();
            if call.next_ip() == back && self.calls(&call, target) {
                if found.is_some() {
                    // A prefix (linkers write `67 e8` for a relaxed call) or the tail of the instruction
                    // before? Only a walk from the function's start tells.
                    return self.walk(back).or(found);
                }
                found = Some(start);
            }
        }
        found
    }

    fn calls(&self, call: &Instruction, target: u64) -> bool {
        let callee = match call.code() {
            Code::Call_rel32_64 => Some(call.near_branch_target()),
            Code::Call_rm64 => match call.op0_kind() {
                OpKind::Register => self.register(call.op0_register()),
                _ => call
                    .virtual_address(0, 0, |register, _, _| self.register(register))
                    .and_then(|slot| self.memory.word(slot)),
            },
            _ => None,
        };
        callee.is_some_and(|callee| callee == target || self.stub_leads_to(callee, target))
    }

    /// Whether `stub` is a linkage table entry for `target`: a jump through memory that belongs to no
    /// function. A function of the program that only jumps on is a tail call, not a stub.
    fn stub_leads_to(&self, stub: u64, target: u64) -> bool {
        if self.image.symbolise(Avma(stub).stated(self.bias)).is_some() {
            return false;
        }
        let mut bytes = [0; 2 * LONGEST as usize];
        if !self.memory.read(stub, &mut bytes) {
            return false;
        }
        let mut decoder = Decoder::with_ip(64, &bytes, stub, DecoderOptions::NONE);
        let mut jump = decoder.decode();
        if jump.code() == Code::Endbr64 {
            jump = decoder.decode();
        }
        jump.code() == Code::Jmp_rm64
            && jump.is_ip_rel_memory_operand()
            && self.memory.word(jump.ip_rel_memory_address()) == Some(target)
    }

    /// The instruction that ends at `back`, by decoding its function from the start.
    fn walk(&self, back: u64) -> Option<u64> {
        let inside = back.checked_sub(1)?;
        let (_, offset) = self.image.symbolise(Avma(inside).stated(self.bias))?;
        let start = inside.checked_sub(offset)?;
        let length = back
            .checked_sub(start)
            .filter(|length| *length <= WALK_LIMIT)?;
        let mut code = vec![0; length as usize];
        if !self.memory.read(start, &mut code) {
            return None;
        }
        Decoder::with_ip(64, &code, start, DecoderOptions::NONE)
            .into_iter()
            .find(|instruction| instruction.next_ip() == back)
            .map(|instruction| instruction.ip())
    }

    /// At the entry of the callee all registers but rsp are as they were at the call.
    fn register(&self, register: Register) -> Option<u64> {
        let r = self.registers;
        Some(match register {
            Register::RAX => r.rax,
            Register::RBX => r.rbx,
            Register::RCX => r.rcx,
            Register::RDX => r.rdx,
            Register::RSI => r.rsi,
            Register::RDI => r.rdi,
            Register::RBP => r.rbp,
            Register::RSP => r.rsp.wrapping_add(8),
            Register::R8 => r.r8,
            Register::R9 => r.r9,
            Register::R10 => r.r10,
            Register::R11 => r.r11,
            Register::R12 => r.r12,
            Register::R13 => r.r13,
            Register::R14 => r.r14,
            Register::R15 => r.r15,
            Register::FS => r.fs_base,
            Register::GS => r.gs_base,
            Register::CS | Register::DS | Register::ES | Register::SS => 0,
            _ => return None,
        })
    }
}

//! A stopped program as the debug information sees it: registers by DWARF number, memory, load bias.

use std::cell::OnceCell;

use candor_dwarf::{Avma, Machine};

use crate::process::Tracee;

/// A program at rest. Vector registers are fetched on first use: most stops never ask for them.
pub(crate) struct Stopped<'t> {
    tracee: &'t Tracee,
    registers: &'t libc::user_regs_struct,
    vectors: OnceCell<Option<Box<libc::user_fpregs_struct>>>,
    bias: u64,
}

impl<'t> Stopped<'t> {
    pub(crate) fn new(
        tracee: &'t Tracee,
        registers: &'t libc::user_regs_struct,
        bias: u64,
    ) -> Self {
        Stopped {
            tracee,
            registers,
            vectors: OnceCell::new(),
            bias,
        }
    }

    fn vectors(&self) -> Option<&libc::user_fpregs_struct> {
        self.vectors
            .get_or_init(|| self.tracee.vector_registers().map(Box::new))
            .as_deref()
    }
}

impl Machine for Stopped<'_> {
    fn register(&self, dwarf_register: u16) -> Option<u128> {
        let r = self.registers;
        // System V ABI, AMD64 supplement, figure 3.36: the order is not the instruction encoding's.
        let general = match dwarf_register {
            0 => r.rax,
            1 => r.rdx,
            2 => r.rcx,
            3 => r.rbx,
            4 => r.rsi,
            5 => r.rdi,
            6 => r.rbp,
            7 => r.rsp,
            8 => r.r8,
            9 => r.r9,
            10 => r.r10,
            11 => r.r11,
            12 => r.r12,
            13 => r.r13,
            14 => r.r14,
            15 => r.r15,
            16 => r.rip,
            17..=32 => return four_words(&self.vectors()?.xmm_space, dwarf_register - 17),
            // An x87 register has 80 bits in a slot of 128.
            33..=40 => {
                let slot = four_words(&self.vectors()?.st_space, dwarf_register - 33)?;
                return Some(slot & ((1 << 80) - 1));
            }
            _ => return None,
        };
        Some(u128::from(general))
    }

    fn read(&self, at: Avma, buf: &mut [u8]) -> bool {
        self.tracee.memory.read(at.0, buf)
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn fs_base(&self) -> Option<u64> {
        Some(self.registers.fs_base)
    }
}

fn four_words(space: &[u32], index: u16) -> Option<u128> {
    let start = usize::from(index) * 4;
    let words = space.get(start..start + 4)?;
    Some(
        words
            .iter()
            .rev()
            .fold(0, |value, word| value << 32 | u128::from(*word)),
    )
}

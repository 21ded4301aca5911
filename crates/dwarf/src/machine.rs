//! What this crate needs from a stopped process. The tracer implements it; tests use a fake.

use crate::Avma;

/// A stopped thread: its registers and memory as of the site's program counter.
pub trait Machine {
    /// The value of a register by its DWARF number of the x86-64 psABI: 0..=15 general, 16 the return address
    /// (program counter), 17..=32 xmm0..xmm15, 33..=40 st0..st7. `None` when it cannot be read.
    fn register(&self, dwarf_register: u16) -> Option<u128>;
    /// Fills `buf` from memory; false when any byte of it cannot be read.
    fn read(&self, at: Avma, buf: &mut [u8]) -> bool;
    /// What was added to the file's addresses when the image was loaded; 0 for a fixed-position executable.
    fn bias(&self) -> u64;
    /// The thread pointer, for thread-local variables.
    fn fs_base(&self) -> Option<u64>;
}

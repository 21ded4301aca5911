//! What x86-64 instructions do: the integer code that gcc and clang emit at -O1 to -O3, with SSE4.2 and AVX2.
//!
//! Written over a [`Domain`], so the same rules build terms and run on numbers; the tests run every form on the
//! real processor and compare. Whatever is not here is [`Unsupported`], which makes a proof undecided.
//!
//! Files: `flags` (lazy condition codes), `scalar` (general registers), `vector` (lanes), `shuffle` (moves of lanes).

mod flags;
mod scalar;
mod shuffle;
mod vector;

pub use flags::{Carry, Flags};

use iced_x86::{Instruction, OpKind, Register};

use crate::domain::Domain;

/// Lanes of 32 bits in a vector register.
pub const LANES: usize = 8;

/// The place of a symbol: a unit that moves as a whole (section, image), and the offset in it. No unit: a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Index of the unit.
    pub unit: Option<u32>,
    /// Offset in the unit, or the number.
    pub offset: i64,
}

/// A decoded instruction with the places its fields refer to.
#[derive(Clone, Debug)]
pub struct Op {
    /// As decoded.
    pub raw: Instruction,
    /// What the displacement stands for, if it is no plain number (RIP-relative, or relocated).
    pub displacement: Option<Place>,
    /// What the immediate stands for, if it is relocated.
    pub immediate: Option<Place>,
    /// The memory operand is a slot of the global offset table, which holds the address of this place.
    pub table_slot: Option<Place>,
    /// Name of the function that is called.
    pub callee: Option<String>,
}

/// Why an instruction has no meaning here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

/// General and vector registers and flags.
#[derive(Debug)]
pub struct State<D: Domain> {
    /// By the processor's numbers: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub regs: [D::V; 16],
    /// Lanes, lowest first.
    pub vectors: [[D::V; LANES]; 16],
    /// Condition codes.
    pub flags: Flags<D::V, D::B>,
}

impl<D: Domain> Clone for State<D> {
    fn clone(&self) -> Self {
        State {
            regs: self.regs,
            vectors: self.vectors,
            flags: self.flags,
        }
    }
}

/// Memory as the machine sees it.
pub trait Memory<D: Domain> {
    /// Reads 1, 2, 4 or 8 bytes.
    fn load(&mut self, d: &mut D, address: D::V, bytes: u8) -> Result<D::V>;
    /// Writes 1, 2, 4 or 8 bytes.
    fn store(&mut self, d: &mut D, address: D::V, bytes: u8, value: D::V) -> Result<()>;
}

/// Where execution goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<B> {
    /// The next instruction.
    Fall,
    /// Elsewhere.
    Jump(u64),
    /// Elsewhere if the condition holds, else on.
    Branch(B, u64),
    /// Into a function and back; which one is in [`Op::callee`].
    Call,
    /// Out of the function.
    Return,
}

/// Names of the general registers, by number.
pub const NAMES: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];
/// Number of rax.
pub const RAX: usize = 0;
/// Number of rdx.
pub const RDX: usize = 2;
/// Number of rsp.
pub const RSP: usize = 4;
/// The registers that arguments come in, by the System V calling convention.
pub const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
/// The registers a function must restore.
pub const CALLEE_SAVED: [usize; 6] = [3, 5, 12, 13, 14, 15];

/// A processor in the middle of an instruction.
pub struct Cpu<'a, D: Domain, M: Memory<D>> {
    /// Operations on values.
    pub d: &'a mut D,
    /// Registers.
    pub state: &'a mut State<D>,
    /// Memory.
    pub memory: &'a mut M,
    /// Addresses of the units.
    pub bases: &'a [D::V],
}

type Result<T> = std::result::Result<T, Unsupported>;

fn unsupported<T>(op: &Op) -> Result<T> {
    Err(Unsupported(format!(
        "the instruction `{}`",
        crate::image::listing(&op.raw)
    )))
}

/// Number of a general register, the number of its bits, and whether it is one of ah, ch, dh, bh.
fn general(register: Register) -> Option<(usize, u8, bool)> {
    if !register.is_gpr() {
        return None;
    }
    let high = matches!(
        register,
        Register::AH | Register::CH | Register::DH | Register::BH
    );
    let number = register.full_register().number();
    Some((number, register.size() as u8 * 8, high))
}

/// Bits of a scalar of this many bytes; 0 for what is no scalar.
fn scalar_bits(bytes: usize) -> u8 {
    if bytes <= 8 { bytes as u8 * 8 } else { 0 }
}

/// Number of a vector register.
fn vector_number(register: Register) -> Option<usize> {
    (register.is_xmm() || register.is_ymm()).then(|| register.number())
}

impl<D: Domain, M: Memory<D>> Cpu<'_, D, M> {
    /// Executes one instruction.
    pub fn step(&mut self, op: &Op) -> Result<Next<D::B>> {
        if let Some(next) = self.scalar(op)? {
            return Ok(next);
        }
        if self.vector(op)? || self.shuffle(op)? {
            return Ok(Next::Fall);
        }
        unsupported(op)
    }

    /// The value of a place.
    pub fn place(&mut self, place: Place) -> D::V {
        let offset = self.d.number(place.offset as u64, 64);
        match place.unit {
            Some(unit) => {
                let base = self.bases[unit as usize];
                self.d.add(base, offset, 64)
            }
            None => offset,
        }
    }

    /// The address of the memory operand.
    fn address(&mut self, op: &Op) -> Result<D::V> {
        let raw = &op.raw;
        if !matches!(raw.segment_prefix(), Register::None) {
            return unsupported(op);
        }
        let mut sum = match op.displacement {
            Some(place) => self.place(place),
            None => self.d.number(raw.memory_displacement64(), 64),
        };
        let base = raw.memory_base();
        if base != Register::None && !matches!(base, Register::RIP | Register::EIP) {
            let Some((number, 64, false)) = general(base) else {
                return unsupported(op);
            };
            sum = self.d.add(sum, self.state.regs[number], 64);
        }
        let index = raw.memory_index();
        if index != Register::None {
            let Some((number, 64, false)) = general(index) else {
                return unsupported(op);
            };
            let scale = self.d.number(u64::from(raw.memory_index_scale()), 64);
            let scaled = self.d.mul(self.state.regs[number], scale, 64);
            sum = self.d.add(sum, scaled, 64);
        }
        Ok(sum)
    }

    /// Bits of an operand.
    fn bits(&self, op: &Op, index: u32) -> u8 {
        match op.raw.op_kind(index) {
            OpKind::Register => scalar_bits(op.raw.op_register(index).size()),
            OpKind::Memory => scalar_bits(op.raw.memory_size().size()),
            _ => 0,
        }
    }

    fn is_memory(op: &Op, index: u32) -> bool {
        op.raw.op_kind(index) == OpKind::Memory
    }

    /// Reads a general register.
    fn get(&mut self, register: Register) -> Result<D::V> {
        let Some((number, bits, high)) = general(register) else {
            return Err(Unsupported(format!("the register {register:?}")));
        };
        let whole = self.state.regs[number];
        Ok(match bits {
            64 => whole,
            _ => self.d.extract(whole, 64, if high { 8 } else { 0 }, bits),
        })
    }

    /// Writes a general register: 32 bits clear the upper half, fewer leave the rest.
    fn set(&mut self, register: Register, value: D::V) -> Result<()> {
        let Some((number, bits, high)) = general(register) else {
            return Err(Unsupported(format!("the register {register:?}")));
        };
        let old = self.state.regs[number];
        let new = match (bits, high) {
            (64, _) => value,
            (32, _) => self.d.zext(value, 32, 64),
            (_, false) => {
                let upper = self.d.extract(old, 64, bits, 64 - bits);
                self.d.concat((value, bits), (upper, 64 - bits))
            }
            (_, true) => {
                let lower = self.d.extract(old, 64, 0, 8);
                let upper = self.d.extract(old, 64, 16, 48);
                let low = self.d.concat((lower, 8), (value, 8));
                self.d.concat((low, 16), (upper, 48))
            }
        };
        self.state.regs[number] = new;
        Ok(())
    }

    /// Reads a scalar operand; immediates are extended to `bits`.
    fn read(&mut self, op: &Op, index: u32, bits: u8) -> Result<D::V> {
        match op.raw.op_kind(index) {
            OpKind::Register => self.get(op.raw.op_register(index)),
            OpKind::Memory => {
                if let Some(place) = op.table_slot {
                    return Ok(self.place(place));
                }
                let size = op.raw.memory_size().size() as u8;
                let address = self.address(op)?;
                self.memory.load(self.d, address, size)
            }
            _ => match (op.immediate, op.raw.try_immediate(index)) {
                // the linker checks that the place fits the field
                (Some(place), _) => {
                    let value = self.place(place);
                    Ok(self.d.extract(value, 64, 0, bits))
                }
                (None, Ok(number)) => Ok(self.d.number(number, bits)),
                (None, Err(_)) => unsupported(op),
            },
        }
    }

    /// Writes a scalar operand.
    fn write(&mut self, op: &Op, index: u32, value: D::V) -> Result<()> {
        match op.raw.op_kind(index) {
            OpKind::Register => self.set(op.raw.op_register(index), value),
            OpKind::Memory => {
                let size = op.raw.memory_size().size() as u8;
                let address = self.address(op)?;
                self.memory.store(self.d, address, size, value)
            }
            _ => unsupported(op),
        }
    }
}

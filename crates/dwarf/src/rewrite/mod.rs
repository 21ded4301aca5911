//! New locations for variables, by editing the file: only the unit of a changed function is encoded again, new location
//! lists are appended, and what is loaded stays byte by byte what it was.
//!
//! In: the bytes of an object or program, and for some variables of a function the pieces of a new location list. Out: the bytes
//! of the changed file, or why it is refused. `elf` takes the file apart and puts it together, `survey` reads a
//! function's variables and what is said of them now, `splice` encodes the changed unit, `lists` the location lists.
//!
//! *Why not gimli's conversion:* it writes everything anew, drops what it does not know (`.debug_aranges`, `.debug_names`,
//! macros), and renumbers files that attributes without bytes of their own still refer to by the old number.

mod elf;
mod lists;
mod splice;
mod survey;

use std::ops::Range;

pub use survey::{Described, Location, OldPiece, Variable};

/// Why a file is not rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not an x86-64 ELF object or program.
    #[error("{0}; pass an object or program for x86-64 Linux")]
    Foreign(String),
    /// The file contradicts itself.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// Something that cannot be kept right.
    #[error("not supported: {0}; nothing was written")]
    Unsupported(String),
    /// No debug information, or none for the function.
    #[error("{0}; compile with -g and do not strip")]
    NoDebugInfo(String),
}

impl From<gimli::Error> for Refused {
    fn from(error: gimli::Error) -> Self {
        Refused::Damaged(format!("its debug information cannot be read ({error})"))
    }
}

/// An address inside an expression that the linker has yet to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Where in the expression.
    pub at: usize,
    /// The section or undefined symbol it is in.
    pub of: String,
    /// How far in.
    pub offset: i64,
}

/// A location over a range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it holds, from the function's start.
    pub pc: Range<u64>,
    /// The DWARF expression.
    pub expression: Vec<u8>,
    /// Addresses in it (relocatable objects only).
    pub addresses: Vec<Address>,
}

/// What a variable's location shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The variable, as [`Described`] names it.
    pub entry: usize,
    /// Its new location list; empty: it has no location.
    pub pieces: Vec<Piece>,
}

/// A file to be rewritten.
#[derive(Debug)]
pub struct Rewriter {
    elf: elf::Elf,
}

impl Rewriter {
    /// Takes a file apart.
    pub fn new(bytes: Vec<u8>) -> Result<Rewriter, Refused> {
        let elf = elf::Elf::read(bytes)?;
        if elf.find(".debug_info")?.is_none() {
            return Err(Refused::NoDebugInfo(
                "the file has no debug information".to_owned(),
            ));
        }
        Ok(Rewriter { elf })
    }

    /// Whether it is a relocatable object.
    pub fn is_relocatable(&self) -> bool {
        self.elf.relocatable
    }

    /// The variables of a function and what is said of them.
    pub fn describe(&self, function: &str) -> Result<Described, Refused> {
        let sections = survey::Sections::load(&self.elf)?;
        survey::describe(&self.elf, &sections, function)
    }

    /// Changes locations of a function's variables.
    pub fn apply(&mut self, function: &str, changes: &[Change]) -> Result<(), Refused> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut elf = self.elf.clone();
        splice::apply(&mut elf, function, changes)?;
        // the changed file is read again as a whole: what was written must be what can be read
        self.elf = elf::Elf::read(elf.write())?;
        Ok(())
    }

    /// The bytes of the file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.elf.file().to_vec()
    }
}

/// Appends a number in LEB128.
pub(crate) fn uleb(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// Appends a signed number in LEB128.
pub(crate) fn sleb(out: &mut Vec<u8>, mut number: i64) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        let done = number == 0 && byte & 0x40 == 0 || number == -1 && byte & 0x40 != 0;
        if done {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// DWARF expressions that compute a value.
pub mod write {
    use super::{sleb, uleb};

    /// Appends `register + offset` (DWARF numbers).
    pub fn register(out: &mut Vec<u8>, number: u8, offset: i64) {
        if number < 32 {
            out.push(0x70 + number);
        } else {
            out.push(0x92);
            uleb(out, u64::from(number));
        }
        sleb(out, offset);
    }

    /// Appends a number.
    pub fn number(out: &mut Vec<u8>, value: i64) {
        match value {
            0..32 => out.push(0x30 + value as u8),
            _ => {
                out.push(0x11);
                sleb(out, value);
            }
        }
    }

    /// Appends an address; where its bytes are.
    pub fn address(out: &mut Vec<u8>, value: u64) -> usize {
        out.push(0x03);
        out.extend(value.to_le_bytes());
        out.len() - 8
    }

    /// Appends an operation.
    pub fn operation(out: &mut Vec<u8>, what: Operation) {
        out.push(match what {
            Operation::Times => 0x1e,
            Operation::Plus => 0x22,
            Operation::Divided => 0x1b,
            Operation::Negated => 0x1f,
            Operation::Minus => 0x1c,
        });
    }

    /// Appends that the result is the value itself, not where it is.
    pub fn value(out: &mut Vec<u8>) {
        out.push(0x9f);
    }

    /// What is computed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Operation {
        /// Product.
        Times,
        /// Sum.
        Plus,
        /// Signed quotient.
        Divided,
        /// Opposite.
        Negated,
        /// Difference.
        Minus,
    }
}

//! Why an image could not be read. What is wrong with a single variable is not an error but an
//! [`Observation`](crate::Observation); what is wrong with one unit fails only what is asked of that unit.

use std::path::PathBuf;

use crate::Svma;

/// Everything that can go wrong in this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or mapped.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not an ELF file at all, or a damaged one.
    #[error(
        "expected an ELF executable or shared object, met {met}; pass a program linked for x86-64 Linux"
    )]
    NotElf {
        /// What was found instead.
        met: String,
    },
    /// An ELF file for another machine or word size.
    #[error(
        "expected a 64-bit little-endian x86-64 ELF file, met {met}; rebuild the program for x86-64 Linux"
    )]
    WrongMachine {
        /// What was found instead.
        met: String,
    },
    /// No `.debug_info`.
    #[error("expected DWARF debug information, met none{}; compile with -g and do not strip the program", debuglink_note(.debuglink))]
    NoDebugInfo {
        /// The name in `.gnu_debuglink`, when the debug information was moved to another file.
        debuglink: Option<String>,
    },
    /// The debug information is in `.dwo` files.
    #[error(
        "expected the debug information in the program itself, met split DWARF in `{dwo}` ({reason}); compile with -gno-split-dwarf"
    )]
    SplitDwarf {
        /// The `.dwo` file that the skeleton unit names.
        dwo: String,
        /// Why it was not read.
        reason: String,
    },
    /// Damaged debug information that concerns more than one variable.
    #[error(
        "malformed {what}: {why}; the compiler, linker or a later tool wrote debug information that cannot be read"
    )]
    Malformed {
        /// The section, unit or table.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// A limit that keeps hostile input from using unbounded time or memory.
    #[error(
        "{what} is larger than candor reads (limit {limit}); split the program into smaller files"
    )]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit that was passed.
        limit: u64,
    },
    /// The address is in no function that the debug information describes.
    #[error(
        "expected an address inside a function with debug information, met {pc:#x}; compile that file with -g"
    )]
    NoFunction {
        /// The address.
        pc: Svma,
    },
    /// A name that the debug information does not have.
    #[error(
        "expected {what} in the debug information, met none of that name; check the spelling and that it is not optimised away"
    )]
    Unknown {
        /// What was looked for, e.g. "function `main`".
        what: String,
    },
    /// Bytes of a compressed section have no place in the file.
    #[error(
        "expected `{section}` uncompressed so that its bytes can be found in the file, met a compressed section; compile with -gz=none"
    )]
    Compressed {
        /// The section.
        section: String,
    },
}

fn debuglink_note(link: &Option<String>) -> String {
    match link {
        Some(name) => format!(" (the program says that it was moved to `{name}`: pass that file)"),
        None => String::new(),
    }
}

impl Error {
    /// The same error once more: a unit that cannot be read fails each time it is asked for.
    pub(crate) fn again(&self) -> Error {
        match self {
            Error::SplitDwarf { dwo, reason } => Error::SplitDwarf {
                dwo: dwo.clone(),
                reason: reason.clone(),
            },
            Error::TooLarge { what, limit } => Error::TooLarge {
                what: what.clone(),
                limit: *limit,
            },
            Error::Malformed { what, why } => Error::Malformed {
                what: what.clone(),
                why: why.clone(),
            },
            other => Error::malformed("debug information", other),
        }
    }

    pub(crate) fn malformed(what: impl Into<String>, why: impl std::fmt::Display) -> Error {
        Error::Malformed {
            what: what.into(),
            why: why.to_string(),
        }
    }
}

//! Rust source: the same [`Unit`] as of a C file, by `syn`.
//!
//! In: the text of one Rust file that is a whole program. Out: its functions, names, scopes and points. What syn
//! cannot know (types, what a macro expands to, which uses move a value) is treated carefully: a place inside a macro
//! call is no point, and a name that may have been moved away is not [`Unit::is_whole`] any more.
//!
//! `walk` collects scopes and points, `uses` tells how an expression uses the names in it.

mod uses;
mod walk;

use std::path::Path;

use crate::{Error, Unit, text};

/// The name of the barrier as it is called from every module of the program.
pub const BARRIER_CALL: &str = "crate::opt_me_not(); ";

/// What stands at the end of a program with barriers: at the end, so that no line moves.
pub const BARRIER_DECLARATION: &str = "\nunsafe extern \"C\" { pub safe fn opt_me_not(); }\n";

/// A Rust file that defines the barrier; to be compiled on its own.
pub const BARRIER_DEFINITION: &str = "#![no_std]\n#![crate_type = \"lib\"]\n#[unsafe(no_mangle)]\n\
pub extern \"C\" fn opt_me_not() { unsafe { core::arch::asm!(\"\") } }\n";

/// Larger files are refused: a Rust test is not that large.
const LARGEST: usize = 1 << 20;
/// Brackets in brackets, and operators in a row: syn recurses for each.
const DEEPEST: u32 = 256;
const LONGEST_RUN: usize = 1000;
/// Room for syn to recurse in.
const STACK: usize = 256 << 20;

/// Parses a Rust program.
///
/// # Errors
/// What is not Rust, or nests too deeply.
pub fn parse(path: &Path, source: &str) -> Result<Unit, Error> {
    let source = text::check(path, source.as_bytes())?;
    if source.len() > LARGEST {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            size: source.len() as u64,
            limit: LARGEST as u64,
        });
    }
    refuse_deep(path, &source)?;
    let failed = |reason: String| Error::Frontend {
        path: path.to_owned(),
        reason,
    };
    // A thread of its own: for the stack, and because spans are remembered per thread for as long as it lives.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || walk::unit(path, source))
            .map_err(|error| failed(format!("no thread for it: {error}")))?;
        thread
            .join()
            .unwrap_or_else(|_| Err(failed("syn gave up on it".into())))
    })
}

/// Refuses what would take syn's recursion too far.
fn refuse_deep(path: &Path, source: &str) -> Result<(), Error> {
    let too_deep = |line: u32| Error::TooDeep {
        path: path.to_owned(),
        line,
        limit: DEEPEST,
    };
    let (mut depth, mut line, mut run) = (0u32, 1u32, 0usize);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'\n' => line += 1,
            _ => {}
        }
        match byte {
            b'!' | b'&' | b'*' | b'-' | b'|' | b'<' => run += 1,
            b' ' | b'\n' | b'\t' => {}
            _ => run = 0,
        }
        if depth > DEEPEST || run > LONGEST_RUN {
            return Err(too_deep(line));
        }
    }
    Ok(())
}

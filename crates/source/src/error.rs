//! Everything that can go wrong between a C file and its points, as sentences for the user.

use std::fmt;
use std::path::PathBuf;

/// One complaint of clang about the user's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as clang names it; `None` for complaints about the command line.
    pub file: Option<String>,
    /// 1-based physical line.
    pub line: u32,
    /// 1-based column in bytes.
    pub column: u32,
    /// Clang's words.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file}:{}:{}: {}", self.line, self.column, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Why this crate could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No libclang was found, or none of those found could be loaded.
    #[error(
        "no usable libclang: looked at {}; {advice}",
        if searched.is_empty() { "the usual folders, and found none".to_string() } else { searched.join(", ") }
    )]
    LibclangMissing {
        /// Each place looked at, with the reason where a file was there but did not load.
        searched: Vec<String>,
        /// What to do about it.
        advice: String,
    },
    /// The libclang that was asked for by path did not load.
    #[error("{} cannot be used as libclang: {reason}; install one with: apt-get install libclang1-19", path.display())]
    LibclangUnusable {
        /// The file asked for.
        path: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The path is a folder, a device, a socket, ...
    #[error("{} is not a regular file; give the path of one C file", path.display())]
    NotAFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file is larger than anything a compiler test should be.
    #[error("{} has {size} bytes, more than the limit of {limit}; reduce the program first", path.display())]
    TooLarge {
        /// The file asked for.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The most that is accepted.
        limit: u64,
    },
    /// The file holds bytes that no C source has.
    #[error("{} is not C text: {what} on line {line}; is it a binary, or in UTF-16?", path.display())]
    NotText {
        /// The file asked for.
        path: PathBuf,
        /// 1-based line of the first such byte.
        line: u32,
        /// What was met there.
        what: String,
    },
    /// Clang rejects the program.
    #[error(
        "clang cannot parse {}: {}{}\ngive the same -I, -D and -std flags as to the compiler",
        path.display(),
        diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        if *omitted > 0 { format!("\n... and {omitted} more") } else { String::new() }
    )]
    Syntax {
        /// The file asked for.
        path: PathBuf,
        /// The first errors, at most [`Error::MAX_DIAGNOSTICS`].
        diagnostics: Vec<Diagnostic>,
        /// How many more there were.
        omitted: usize,
    },
    /// syn rejects the program.
    #[error("this is not Rust that can be parsed: {diagnostic}\n`rustc` says more about it")]
    RustSyntax {
        /// The file asked for.
        path: PathBuf,
        /// Where, and syn's words.
        diagnostic: Diagnostic,
    },
    /// libclang gave up without a diagnostic (crash, bad arguments).
    #[error("libclang failed on {}: {reason}", path.display())]
    Frontend {
        /// The file asked for.
        path: PathBuf,
        /// libclang's error code in words.
        reason: String,
    },
    /// The program nests deeper than the walk follows.
    #[error("{}: statements nest more than {limit} deep near line {line}", path.display())]
    TooDeep {
        /// The file asked for.
        path: PathBuf,
        /// Where the limit was met.
        line: u32,
        /// The limit.
        limit: u32,
    },
    /// Two edits want the same bytes, or an edit lies outside the text.
    #[error("edit of bytes {start}..{end} {reason}")]
    Edit {
        /// First byte of the edit.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// No statement on that line can take a barrier.
    #[error(
        "line {line} has no statement to stop before; {}",
        if nearest.is_empty() {
            "the file has none at all".to_string()
        } else {
            format!("the nearest lines that have one: {}", nearest.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
        }
    )]
    NoPoint {
        /// The line asked for.
        line: u32,
        /// Up to four lines that have points, nearest first.
        nearest: Vec<u32>,
    },
    /// The variable is not visible at that line.
    #[error(
        "no variable `{name}` is visible at line {line}; visible there: {}",
        listed(visible)
    )]
    NotVisible {
        /// The name asked for.
        name: String,
        /// The line asked for.
        line: u32,
        /// What is visible, innermost first.
        visible: Vec<String>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "nothing".to_string()
    } else {
        names.join(", ")
    }
}

impl Error {
    /// How many of clang's errors [`Error::Syntax`] keeps: the first ones matter, the rest follow from them.
    pub const MAX_DIAGNOSTICS: usize = 10;
}

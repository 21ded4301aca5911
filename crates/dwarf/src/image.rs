//! One program file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::{Error, Line, Machine, Observation, Site, SiteOptions, Svma};

/// A symbol of the file's symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its address.
    pub address: Svma,
    /// Its size in bytes; 0 when the file does not say.
    pub size: u64,
    /// Its sort.
    pub kind: SymbolKind,
}

/// What sort of thing a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable.
    Object,
    /// A thread-local variable; its address is an offset into the thread's block.
    ThreadLocal,
    /// Anything else.
    Other,
}

/// A row of the line table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRow {
    /// Where the row starts.
    pub pc: Svma,
    /// The source file.
    pub file: Arc<str>,
    /// The line; `None` for code that belongs to no line.
    pub line: Option<Line>,
    /// The column; 0 for the left edge or unknown.
    pub column: u32,
    /// Whether the compiler recommends it as a place to stop.
    pub is_stmt: bool,
}

/// A place to stop in line mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementStop {
    /// The address.
    pub pc: Svma,
    /// The line that it stands for.
    pub line: Line,
    /// The source file.
    pub file: Arc<str>,
}

/// A function that the debug information describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name in the source.
    pub name: Arc<str>,
    /// Where its own code is; empty when it exists only inlined.
    pub ranges: Vec<Range<Svma>>,
    /// The line of its declaration.
    pub decl_line: Option<Line>,
    /// How many times it is inlined.
    pub inlined: usize,
}

/// Where in the file the bytes of one location of a variable are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationSpan {
    /// The addresses that it holds for.
    pub pc: Range<Svma>,
    /// Where the bytes start in the file.
    pub file_offset: u64,
    /// How many there are.
    pub len: u64,
    /// What they are.
    pub kind: LocationKind,
}

/// What the bytes of a [`LocationSpan`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationKind {
    /// A DWARF expression.
    Expression,
    /// The value of a `DW_AT_const_value`.
    ConstValue,
}

/// One program file with its debug information, read lazily. Share it by `Arc`.
#[derive(Debug)]
pub struct Image {}

impl Image {
    /// Maps a file. Only headers are read.
    pub fn open(path: &Path) -> Result<Image, Error> {
        Err(Error::Unknown { what: path.display().to_string() })
    }

    /// The same for a file in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Image, Error> {
        Err(Error::NotElf { met: format!("{} bytes", bytes.len()) })
    }

    /// The program's entry point.
    pub fn entry(&self) -> Svma {
        Svma(0)
    }

    /// Whether the file may be loaded anywhere.
    pub fn is_pie(&self) -> bool {
        false
    }

    /// A symbol by its name.
    pub fn symbol(&self, _name: &str) -> Option<Symbol> {
        None
    }

    /// The variable or function that an address is in, and how far in.
    pub fn symbolise(&self, _at: Svma) -> Option<(&str, u64)> {
        None
    }

    /// The row of the line table that covers an address.
    pub fn line_at(&self, _pc: Svma) -> Result<Option<LineRow>, Error> {
        Ok(None)
    }

    /// The places to stop at in line mode, by address.
    pub fn statement_stops(&self) -> Result<Vec<StatementStop>, Error> {
        Ok(Vec::new())
    }

    /// Everything visible at one address.
    pub fn site(&self, pc: Svma, _options: &SiteOptions) -> Result<Site, Error> {
        Err(Error::NoFunction { pc })
    }

    /// Replaces `out` by one observation per leaf of the site, in the same order.
    pub fn observe(&self, _site: &Site, _machine: &dyn Machine, out: &mut Vec<Observation>) {
        out.clear();
    }

    /// The functions that the debug information describes, by name.
    pub fn functions(&self) -> Result<Vec<Function>, Error> {
        Ok(Vec::new())
    }

    /// Where in the file the bytes of a variable's locations are.
    pub fn location_spans(&self, _function: &str, variable: &str) -> Result<Vec<LocationSpan>, Error> {
        Err(Error::Unknown { what: variable.into() })
    }

    /// The DWARF location of a leaf in words.
    pub fn describe_location(&self, _site: &Site, _leaf: usize) -> String {
        String::new()
    }
}

//! Line tables: which line an address belongs to, and where line mode stops.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::{Dwarf, LineProgramHeader, Unit};

use crate::elf::Slice;
use crate::tree::Damage;
use crate::{Line, Svma};

/// Rows of one unit.
const MAX_ROWS: usize = 50_000_000;

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

#[derive(Debug, Clone, Copy)]
struct Row {
    pc: u64,
    file: u32,
    line: u32,
    column: u32,
    is_stmt: bool,
}

#[derive(Debug)]
struct Sequence {
    start: u64,
    end: u64,
    rows: Vec<Row>,
}

/// The line table of one unit.
#[derive(Debug, Default)]
pub(crate) struct LineTable {
    /// Path, and whether it is the user's own.
    files: BTreeMap<u32, (Arc<str>, bool)>,
    sequences: Vec<Sequence>,
}

impl LineTable {
    pub(crate) fn read(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>) -> Result<LineTable, Damage> {
        let mut table = LineTable::default();
        let Some(program) = unit.line_program.clone() else {
            return Ok(table);
        };
        let mut machine = program.rows();
        let (mut rows, mut count) = (Vec::<Row>::new(), 0usize);
        while let Some((header, row)) = machine.next_row()? {
            count += 1;
            if count > MAX_ROWS {
                return Err(Damage(format!("more than {MAX_ROWS} rows")));
            }
            if row.end_sequence() {
                let rows = std::mem::take(&mut rows);
                if let Some(start) = rows
                    .first()
                    .map(|row| row.pc)
                    .filter(|start| *start != 0 && *start < row.address())
                {
                    table.sequences.push(Sequence {
                        start,
                        end: row.address(),
                        rows,
                    });
                }
                continue;
            }
            let file = row.file_index() as u32;
            table.files.entry(file).or_insert_with(|| {
                let path = path(dwarf, unit, header, row.file_index()).unwrap_or_default();
                let own = is_own(&path);
                (Arc::from(path), own)
            });
            rows.push(Row {
                pc: row.address(),
                file,
                line: row
                    .line()
                    .and_then(|line| u32::try_from(line.get()).ok())
                    .unwrap_or(0),
                column: match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                },
                is_stmt: row.is_stmt(),
            });
        }
        table.sequences.sort_by_key(|sequence| sequence.start);
        Ok(table)
    }

    /// The row that covers an address: of several at one address the last statement, or the last if there is none. This
    /// is also what gdb shows.
    pub(crate) fn at(&self, pc: u64) -> Option<LineRow> {
        let after = self
            .sequences
            .partition_point(|sequence| sequence.start <= pc);
        let sequence = self.sequences[..after]
            .iter()
            .rev()
            .take(64)
            .find(|sequence| pc < sequence.end)?;
        let after = sequence.rows.partition_point(|row| row.pc <= pc);
        let last = sequence.rows.get(after.checked_sub(1)?)?;
        let mut here = sequence.rows[..after]
            .iter()
            .rev()
            .take_while(|row| row.pc == last.pc);
        let row = here
            .find(|row| row.is_stmt && row.line != 0)
            .unwrap_or(last);
        Some(LineRow {
            pc: Svma(row.pc),
            file: self
                .files
                .get(&row.file)
                .map_or_else(|| Arc::from(""), |(path, _)| path.clone()),
            line: (row.line != 0).then_some(Line(row.line)),
            column: row.column,
            is_stmt: row.is_stmt,
        })
    }

    /// The line of the last row at the address that [`LineTable::at`] takes its row from, statement or not: of several
    /// rows at one address this is what the line program says, and what lldb shows.
    pub(crate) fn last_line_at(&self, pc: u64) -> Option<Line> {
        let after = self
            .sequences
            .partition_point(|sequence| sequence.start <= pc);
        let sequence = self.sequences[..after]
            .iter()
            .rev()
            .take(64)
            .find(|sequence| pc < sequence.end)?;
        let after = sequence.rows.partition_point(|row| row.pc <= pc);
        let last = sequence.rows.get(after.checked_sub(1)?)?;
        (last.line != 0).then_some(Line(last.line))
    }

    /// The stops of this table. gcc puts many rows at one address; debuggers show the state after all of them, so the
    /// address stands for the last statement row only.
    pub(crate) fn stops(&self, out: &mut Vec<StatementStop>) {
        for sequence in &self.sequences {
            let mut rows = sequence
                .rows
                .iter()
                .filter(|row| row.is_stmt && row.pc < sequence.end)
                .peekable();
            while let Some(row) = rows.next() {
                if rows.peek().is_some_and(|next| next.pc == row.pc) || row.line == 0 {
                    continue;
                }
                if let Some((file, true)) = self.files.get(&row.file) {
                    out.push(StatementStop {
                        pc: Svma(row.pc),
                        line: Line(row.line),
                        file: file.clone(),
                    });
                }
            }
        }
    }
}

/// Whether a unit's line program names any file of the user's own, told from its header alone.
pub(crate) fn has_own_files(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>) -> bool {
    let Some(program) = &unit.line_program else {
        return false;
    };
    let header = program.header();
    let first = if header.version() >= 5 { 0 } else { 1 };
    (first..first + header.file_names().len() as u64)
        .any(|index| path(dwarf, unit, header, index).is_some_and(|path| is_own(&path)))
}

fn path(
    dwarf: &Dwarf<Slice>,
    unit: &Unit<Slice>,
    header: &LineProgramHeader<Slice>,
    index: u64,
) -> Option<String> {
    let file = header.file(index)?;
    let text = |value| {
        dwarf
            .attr_string(unit, value)
            .ok()
            .map(|bytes: Slice| bytes.to_string_lossy().into_owned())
    };
    let mut path = text(file.path_name())?;
    if !path.starts_with('/')
        && let Some(directory) = file.directory(header).and_then(text)
    {
        path = format!("{directory}/{path}");
    }
    if !path.starts_with('/')
        && let Some(directory) = unit.comp_dir
    {
        path = format!("{}/{path}", directory.to_string_lossy());
    }
    Some(path)
}

/// Not a header of the system, of a compiler, or of a package registry.
fn is_own(path: &str) -> bool {
    const FOREIGN: [&str; 5] = ["/usr/", "/lib/", "/lib64/", "/opt/", "/rustc/"];
    const INSIDE: [&str; 4] = ["/lib/gcc/", "/lib/clang/", "/rustlib/", "/.cargo/registry/"];
    let built_in =
        path.ends_with("<built-in>") || path.ends_with("<command-line>") || path.is_empty();
    !built_in
        && !FOREIGN.iter().any(|prefix| path.starts_with(prefix))
        && !INSIDE.iter().any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn system_headers_are_not_the_users_own() {
        assert!(is_own("/home/me/project/a.c"));
        assert!(is_own("/tmp/x/a.c"));
        assert!(!is_own("/usr/include/csmith/safe_math.h"));
        assert!(!is_own("/rustc/abc/library/core/src/fmt.rs"));
        assert!(!is_own("/home/me/.cargo/registry/src/x/lib.rs"));
        assert!(!is_own("/project/<built-in>"));
    }
}

//! From the blocks of an instrumented compiler to the statements of its source.
//!
//! A *block* is a place where the program calls the run-time; a *statement* is a line of one of the
//! compiler's files (paper 003 counts lines, as gcov does). Many blocks may be one statement, and an
//! inlined function's statement may be many blocks. Found once per compiler and kept as text beside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use candor_dwarf::{Image, Svma};

use crate::files::{normal, read_text, write};
use crate::{Cover, Error};

/// The function of the run-time that every block calls.
pub const TRACE: &str = "__sanitizer_cov_trace_pc";

/// Code the run-time has room for (`CANDOR_COVERAGE_SPAN`).
pub const SPAN: u64 = 160 << 20;

/// The first line of the file.
const HEADER: &str = "candor coverage map 1";

/// A block outside the compiler's own files.
const NOWHERE: u32 = u32::MAX;

/// A line of one of the compiler's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Statement {
    /// The file, by its number in [`Map::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The function, by its number in [`Map::functions`].
    pub function: u32,
}

/// Where source files are, and how they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Roots(pub Vec<Root>);

/// Files below one directory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Root {
    /// The directory.
    pub directory: PathBuf,
    /// What stands for it in names: `""` or `"include/"`.
    pub name: String,
}

impl Roots {
    /// The name of a file; `None` when it is not the compiler's own. The first root that fits counts.
    pub fn name(&self, path: &str) -> Option<String> {
        let path = normal(Path::new(path));
        self.0.iter().find_map(|root| {
            let below = path.strip_prefix(&root.directory).ok()?;
            Some(format!("{}{}", root.name, below.display()))
        })
    }
}

/// The statements of a compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    files: Vec<String>,
    functions: Vec<String>,
    statements: Vec<Statement>,
    /// The statement of each block.
    blocks: Vec<u32>,
    /// For maps that grow: the numbers of what is there already.
    known: BTreeMap<(String, u32), u32>,
}

impl Map {
    /// Reads an instrumented program: the offsets of its blocks from the start of the program, as the
    /// run-time wants them, and what they are.
    pub fn of_program(program: &Path, roots: &Roots) -> Result<(Vec<u32>, Map), Error> {
        let dwarf = |source| Error::Dwarf {
            program: program.to_owned(),
            source,
        };
        let image = Image::open(program).map_err(dwarf)?;
        let blocks = image.returns_from(TRACE);
        let start = image
            .symbol("__executable_start")
            .map(|symbol| symbol.address.0);
        let (Some(start), Some(last)) = (start, blocks.last()) else {
            return Err(Error::NotInstrumented {
                program: program.to_owned(),
                symbol: TRACE,
            });
        };
        if last.0.saturating_sub(start) >= SPAN {
            return Err(Error::TooLarge {
                program: program.to_owned(),
                size: last.0.saturating_sub(start) >> 20,
                span: SPAN >> 20,
            });
        }
        let mut names = Names::default();
        let mut offsets = Vec::with_capacity(blocks.len());
        let mut places = Vec::with_capacity(blocks.len());
        for block in &blocks {
            offsets.push(u32::try_from(block.0.saturating_sub(start)).unwrap_or(u32::MAX));
            // The return address may be the next line's; the call itself is the block's.
            let call = Svma(block.0 - 1);
            let row = image.line_at(call).map_err(dwarf)?;
            let place = row.and_then(|row| Some((names.file(&row.file, roots)?, row.line?.0)));
            places.push(match place {
                None => None,
                Some((file, line)) => {
                    let function = image.function_at(call).map_err(dwarf)?;
                    Some(Statement {
                        file,
                        line,
                        function: names.function(function.as_deref().unwrap_or("")),
                    })
                }
            });
        }
        Ok((offsets, names.map(&places)))
    }

    /// The compiler's files; a statement names one by its place here.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The compiler's functions; a statement names one by its place here.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// The statements; a cover names one by its place here.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// What the run-time's bitmap says was reached.
    pub fn cover(&self, bitmap: &[u8]) -> Result<Cover, Error> {
        let expected = self.blocks.len().div_ceil(8);
        if bitmap.len() != expected {
            return Err(Error::Mismatch {
                met: bitmap.len(),
                expected,
            });
        }
        let mut cover = Cover::default();
        for (byte, eight) in bitmap.iter().zip(self.blocks.chunks(8)) {
            if *byte == 0 {
                continue;
            }
            for (bit, statement) in eight.iter().enumerate() {
                if byte >> bit & 1 == 1 && *statement != NOWHERE {
                    cover.insert(*statement);
                }
            }
        }
        Ok(cover)
    }

    /// The number of a line, which is added when it is new: for coverage that other tools wrote.
    pub fn number(&mut self, file: &str, line: u32, function: &str) -> u32 {
        if let Some(known) = self.known.get(&(file.to_owned(), line)) {
            return *known;
        }
        let place = |list: &mut Vec<String>, name: &str| {
            let found = list.iter().position(|known| known == name);
            let at = found.unwrap_or_else(|| {
                list.push(name.to_owned());
                list.len() - 1
            });
            u32::try_from(at).unwrap_or(u32::MAX)
        };
        let statement = Statement {
            file: place(&mut self.files, file),
            line,
            function: place(&mut self.functions, function),
        };
        let number = u32::try_from(self.statements.len()).unwrap_or(u32::MAX);
        self.statements.push(statement);
        self.known.insert((file.to_owned(), line), number);
        number
    }

    /// Writes the map.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut text = format!("{HEADER}\n");
        let lists = [("files", &self.files), ("functions", &self.functions)];
        for (name, list) in lists {
            let _ = writeln!(text, "{name} {}", list.len());
            for item in list {
                let _ = writeln!(text, "{item}");
            }
        }
        let _ = writeln!(text, "statements {}", self.statements.len());
        for one in &self.statements {
            let _ = writeln!(text, "{} {} {}", one.file, one.line, one.function);
        }
        let _ = writeln!(text, "blocks {}", self.blocks.len());
        for statement in &self.blocks {
            match *statement {
                NOWHERE => text.push_str("-\n"),
                number => {
                    let _ = writeln!(text, "{number}");
                }
            }
        }
        write(path, text.as_bytes())
    }

    /// Reads what [`Map::save`] wrote.
    pub fn load(path: &Path) -> Result<Map, Error> {
        let text = read_text(path)?;
        let mut reader = Reader {
            path,
            lines: text.lines().enumerate(),
            at: 0,
        };
        if reader.line()? != HEADER {
            return Err(reader.error("expected a map of candor's"));
        }
        let mut map = Map {
            files: reader.list("files", |line| Some(line.to_owned()))?,
            functions: reader.list("functions", |line| Some(line.to_owned()))?,
            ..Map::default()
        };
        let (files, functions) = (map.files.len(), map.functions.len());
        map.statements = reader.list("statements", |line| {
            let mut cells = line.split(' ').map(|cell| cell.parse::<u32>().ok());
            let statement = Statement {
                file: cells.next()??,
                line: cells.next()??,
                function: cells.next()??,
            };
            let fits =
                (statement.file as usize) < files && (statement.function as usize) < functions;
            fits.then_some(statement)
        })?;
        let count = map.statements.len();
        map.blocks = reader.list("blocks", |line| match line {
            "-" => Some(NOWHERE),
            _ => line
                .parse()
                .ok()
                .filter(|number: &u32| (*number as usize) < count),
        })?;
        Ok(map)
    }
}

struct Reader<'a> {
    path: &'a Path,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, reason: &str) -> Error {
        Error::Format {
            path: self.path.to_owned(),
            line: self.at + 1,
            reason: reason.to_owned(),
        }
    }

    fn line(&mut self) -> Result<&'a str, Error> {
        match self.lines.next() {
            Some((at, line)) => {
                self.at = at;
                Ok(line)
            }
            None => Err(self.error("the file ends too early")),
        }
    }

    fn list<T>(
        &mut self,
        name: &str,
        item: impl Fn(&'a str) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let header = self.line()?;
        let count = header
            .strip_prefix(name)
            .and_then(|rest| rest.trim().parse::<usize>().ok())
            .ok_or_else(|| self.error(&format!("expected `{name}` and their number")))?;
        let mut list = Vec::new();
        for _ in 0..count {
            let line = self.line()?;
            list.push(item(line).ok_or_else(|| self.error(&format!("no entry of `{name}`")))?);
        }
        Ok(list)
    }
}

/// Names met in debug information, each once.
#[derive(Default)]
struct Names {
    files: BTreeMap<String, u32>,
    functions: BTreeMap<String, u32>,
    /// From the path as the debug information has it; normalising paths is the slow part.
    paths: BTreeMap<std::sync::Arc<str>, Option<u32>>,
}

impl Names {
    fn file(&mut self, path: &std::sync::Arc<str>, roots: &Roots) -> Option<u32> {
        if let Some(known) = self.paths.get(path) {
            return *known;
        }
        let number = roots.name(path).map(|name| intern(&mut self.files, &name));
        self.paths.insert(path.clone(), number);
        number
    }

    fn function(&mut self, name: &str) -> u32 {
        intern(&mut self.functions, name)
    }

    /// Statements in the order of files and lines; a line that several functions share belongs to the
    /// first by name.
    fn map(self, places: &[Option<Statement>]) -> Map {
        let ordered = |names: BTreeMap<String, u32>| {
            let mut list: Vec<(u32, String)> = names
                .into_iter()
                .map(|(name, number)| (number, name))
                .collect();
            list.sort_unstable();
            list.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        let mut statements: Vec<Statement> = places.iter().copied().flatten().collect();
        statements.sort_unstable();
        statements.dedup_by_key(|one| (one.file, one.line));
        let number = |one: &Statement| {
            let key = (one.file, one.line);
            statements
                .binary_search_by_key(&key, |known| (known.file, known.line))
                .ok()
                .and_then(|at| u32::try_from(at).ok())
                .unwrap_or(NOWHERE)
        };
        let blocks = places
            .iter()
            .map(|place| place.as_ref().map_or(NOWHERE, number))
            .collect();
        Map {
            files: ordered(self.files),
            functions: ordered(self.functions),
            statements,
            blocks,
            known: BTreeMap::new(),
        }
    }
}

fn intern(names: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    if let Some(known) = names.get(name) {
        return *known;
    }
    let number = u32::try_from(names.len()).unwrap_or(u32::MAX);
    names.insert(name.to_owned(), number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: u32, line: u32, function: u32) -> Option<Statement> {
        Some(Statement {
            file,
            line,
            function,
        })
    }

    fn small() -> Map {
        let mut names = Names::default();
        for file in ["b.cc", "a.cc"] {
            intern(&mut names.files, file);
        }
        for function in ["f", "g"] {
            names.function(function);
        }
        names.map(&[
            place(1, 9, 0),
            None,
            place(0, 3, 1),
            place(1, 9, 1),
            place(0, 4, 1),
        ])
    }

    #[test]
    fn blocks_become_statements_and_bitmaps_covers() {
        let map = small();
        assert_eq!(map.statements().len(), 3);
        let cover = map.cover(&[0b0001_1011]).unwrap();
        let lines: Vec<(&str, u32)> = cover
            .iter()
            .filter_map(|number| map.statements().get(number as usize))
            .map(|one| (map.files()[one.file as usize].as_str(), one.line))
            .collect();
        assert_eq!(lines, [("b.cc", 4), ("a.cc", 9)]);
        assert!(matches!(
            map.cover(&[1, 2]),
            Err(Error::Mismatch {
                met: 2,
                expected: 1
            })
        ));
    }

    #[test]
    fn maps_survive_the_way_through_a_file_and_damaged_ones_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map");
        let map = small();
        map.save(&path).unwrap();
        assert_eq!(Map::load(&path).unwrap(), map);
        let text = std::fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("blocks 5", "blocks 6"),
            ("1 9 0", "7 9 0"),
            ("map 1", "map 2"),
            ("files 2", "files x"),
        ] {
            std::fs::write(&path, text.replace(from, to)).unwrap();
            assert!(
                matches!(Map::load(&path), Err(Error::Format { .. })),
                "{from}"
            );
        }
    }

    #[test]
    fn files_are_named_below_their_roots_and_others_left_out() {
        let root = |directory: &str, name: &str| Root {
            directory: directory.into(),
            name: name.into(),
        };
        let roots = Roots(vec![root("/s/gcc", ""), root("/b/gcc", ""), root("/s", "")]);
        assert_eq!(
            roots.name("/b/gcc/../../s/gcc/tree.cc").as_deref(),
            Some("tree.cc")
        );
        assert_eq!(
            roots.name("/b/gcc/gimple-match.cc").as_deref(),
            Some("gimple-match.cc")
        );
        assert_eq!(roots.name("/s/include/x.h").as_deref(), Some("include/x.h"));
        assert_eq!(roots.name("/usr/include/c++/12/vector"), None);
    }

    #[test]
    fn maps_grow_for_other_tools() {
        let mut map = Map::default();
        assert_eq!(map.number("a.c", 3, "f"), 0);
        assert_eq!(map.number("a.c", 4, "f"), 1);
        assert_eq!(map.number("a.c", 3, "f"), 0);
        assert_eq!(map.files(), ["a.c"]);
    }
}

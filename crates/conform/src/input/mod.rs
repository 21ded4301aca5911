//! Inputs: IR files, bitcode, C and Rust through their compilers, LLVM's own regression tests.
//!
//! A [`Test`] is one file with one pipeline; a regression test with several RUN lines is several.

mod compile;
mod groups;
mod run_line;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use candor_llvm::Run;

pub use compile::{Compilers, rust_library, to_ir};
pub use groups::{GROUPS, Selection, nearest};
pub use run_line::{Command, commands};

use crate::Error;
use crate::pipeline::{bare, base, passes};

/// One input with one pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The file.
    pub file: PathBuf,
    /// The RUN line, counted from 1, if the pipeline comes from one.
    pub run_line: Option<usize>,
    /// What the library is asked to do.
    pub run: Run,
}

impl Test {
    /// `name.ll` or `name.ll, RUN line 2`.
    pub fn name(&self) -> String {
        let file = self.file.display();
        match self.run_line {
            Some(line) => format!("{file}, RUN line {line}"),
            None => file.to_string(),
        }
    }
}

/// A file with one pipeline, whatever its RUN lines say.
pub fn plain(file: &Path, input: Vec<u8>, pipeline: &str) -> Test {
    Test {
        file: file.to_owned(),
        run_line: None,
        run: Run {
            name: file.display().to_string(),
            input,
            pipeline: pipeline.to_owned(),
            ..Run::default()
        },
    }
}

/// The tests in the RUN lines of a file, those with a selected pass. `known` are the library's passes:
/// older tests spell a pass as an option of its own.
pub fn from_run_lines(
    file: &Path,
    input: &[u8],
    selection: &Selection,
    known: &BTreeSet<String>,
) -> Vec<Test> {
    let text = String::from_utf8_lossy(input);
    let mut tests: Vec<Test> = Vec::new();
    for command in commands(&text, known) {
        let wanted = passes(&command.pipeline)
            .iter()
            .any(|pass| selection.contains(base(pass)));
        if !wanted {
            continue;
        }
        let run = Run {
            name: file.display().to_string(),
            input: input.to_vec(),
            pipeline: bare(&command.pipeline),
            triple: command.triple,
            cpu: command.cpu,
            features: command.features,
            layout: command.layout,
            options: command.options,
        };
        if !tests.iter().any(|known| known.run == run) {
            tests.push(Test {
                file: file.to_owned(),
                run_line: Some(command.number),
                run,
            });
        }
    }
    tests
}

/// All tests below a directory, in the order of their paths.
pub fn from_directory(
    directory: &Path,
    selection: &Selection,
    known: &BTreeSet<String>,
) -> Result<Vec<Test>, Error> {
    let mut files = Vec::new();
    gather(directory, &mut files, 0)?;
    files.sort();
    let mut tests = Vec::new();
    for file in files {
        let input = read(&file)?;
        tests.extend(from_run_lines(&file, &input, selection, known));
    }
    match tests.is_empty() {
        false => Ok(tests),
        true => Err(Error::NoTests {
            path: directory.to_owned(),
            wanted: selection.to_string(),
        }),
    }
}

/// Reads a file.
pub fn read(file: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(file).map_err(|source| Error::Read {
        path: file.to_owned(),
        source,
    })
}

fn gather(directory: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), Error> {
    /// Test suites are not deeper; a link to itself is.
    const DEEPEST: usize = 16;
    let wrong = |source| Error::Read {
        path: directory.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() && depth < DEEPEST {
            gather(&path, files, depth + 1)?;
        } else if path.extension().is_some_and(|extension| extension == "ll") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeSet<String> {
        ["licm", "loop-reduce", "gvn"].map(str::to_owned).into()
    }

    #[test]
    fn run_lines_become_tests() {
        let text = b"; RUN: opt -passes=licm -S < %s | FileCheck %s\n; RUN: opt -passes=licm < %s\n; RUN: opt -passes=gvn %s\n";
        let tests = from_run_lines(Path::new("a.ll"), text, &Selection::pass("licm"), &known());
        assert_eq!(tests.len(), 1, "{tests:?}");
        assert_eq!(tests[0].run.pipeline, "licm");
        assert_eq!(tests[0].name(), "a.ll, RUN line 1");
        let all = from_run_lines(Path::new("a.ll"), text, &Selection::All, &known());
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn directories_without_a_test_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.ll"), "; RUN: opt -passes=gvn %s").unwrap();
        let wanted = Selection::pass("licm");
        let error = from_directory(directory.path(), &wanted, &known()).unwrap_err();
        assert!(error.to_string().contains("licm"), "{error}");
        let wanted = Selection::pass("gvn");
        assert_eq!(
            from_directory(directory.path(), &wanted, &known())
                .unwrap()
                .len(),
            1
        );
    }
}

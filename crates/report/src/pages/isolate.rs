//! What `isolate` says of one finding: the pass, and the compiler's files with their reasons.

use askama::Template;

use super::Frame;
use crate::{Culprit, Error};

/// A file of the compiler.
#[derive(Clone, Debug, Default)]
pub struct SuspectFile {
    /// Its place.
    pub rank: usize,
    /// Its name below the compiler's source directory.
    pub file: String,
    /// How many of its lines the failing compilation reached.
    pub reached: usize,
    /// Who put it where.
    pub places: String,
    /// Curing passes that are in it, and witnesses that avoided it, in words.
    pub why: Vec<String>,
    /// Its functions: name, and the lines that only the failing compilation reached.
    pub functions: Vec<(String, String)>,
}

/// All that is known of one finding.
#[derive(Clone, Debug, Default)]
pub struct IsolateRun {
    /// The program.
    pub program: String,
    /// The answer in one sentence.
    pub headline: String,
    /// Compiler, flags, claim, effort.
    pub facts: Vec<(String, String)>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Stage 1's answer.
    pub culprit: Option<Culprit>,
    /// Files, the likeliest first.
    pub files: Vec<SuspectFile>,
    /// What the nearest passing program changes: its name, and lines starting with '-' or '+'.
    pub nearest: Option<(String, Vec<String>)>,
    /// Witnesses: source, name, distance.
    pub witnesses: Vec<(String, String, String)>,
}

#[derive(Template)]
#[template(path = "isolate.html")]
struct Page<'a> {
    frame: Frame,
    run: &'a IsolateRun,
}

/// The page.
pub(crate) fn render(run: &IsolateRun) -> Result<String, Error> {
    let page = Page {
        frame: Frame::alone(""),
        run,
    };
    Ok(page.render()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shown_with_their_reasons_and_everything_is_escaped() {
        let run = IsolateRun {
            program: "<script>.c".to_owned(),
            headline: "gcc: pass pre".to_owned(),
            files: vec![SuspectFile {
                rank: 1,
                file: "tree-ssa-pre.cc".to_owned(),
                reached: 7,
                places: "mutants 2".to_owned(),
                why: vec!["31 of its lines are not reached by: a < b".to_owned()],
                functions: vec![("insert".to_owned(), "10, 12".to_owned())],
            }],
            nearest: Some(("x".to_owned(), vec!["-a<b".to_owned(), "+a>b".to_owned()])),
            ..IsolateRun::default()
        };
        let page = render(&run).expect("a page");
        for part in [
            "tree-ssa-pre.cc",
            "mutants 2",
            "insert",
            "10, 12",
            "a &#60; b",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("<script>.c"));
    }
}

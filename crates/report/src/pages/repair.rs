//! What `repair` gives: a page of all functions, and a page per function with its source, its instructions and the value of each
//! variable at each of them, before and after.

use askama::Template;

use super::Frame;
use crate::Error;

/// A function as its page shows it.
#[derive(Clone, Debug, Default)]
pub struct RepairedFunction {
    /// Its name.
    pub name: String,
    /// Proved and repaired, or why not.
    pub verdict: String,
    /// Figures with what they are.
    pub facts: Vec<(String, String)>,
    /// Its source: line numbers and text.
    pub source: Vec<(u32, String)>,
    /// Variables.
    pub columns: Vec<String>,
    /// Instructions.
    pub rows: Vec<RepairedRow>,
}

/// An instruction.
#[derive(Clone, Debug, Default)]
pub struct RepairedRow {
    /// Its address.
    pub at: String,
    /// As a disassembler prints it.
    pub text: String,
    /// What is to be known of it, such as the loop whose head it is.
    pub mark: String,
    /// By variable.
    pub cells: Vec<RepairedCell>,
}

/// A variable at an instruction.
#[derive(Clone, Debug, Default)]
pub struct RepairedCell {
    /// What was said before.
    pub before: String,
    /// What is said now.
    pub after: String,
    /// How precise that is; empty if it is as before.
    pub precision: String,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct RepairRun {
    /// The file that was repaired.
    pub file: String,
    /// Its source.
    pub source: String,
    /// What the file as a whole came to.
    pub summary: String,
    /// Functions.
    pub functions: Vec<RepairedFunction>,
}

#[derive(Template)]
#[template(path = "repair.html")]
struct Index<'a> {
    frame: Frame,
    run: &'a RepairRun,
    rows: Vec<(String, &'a RepairedFunction)>,
}

#[derive(Template)]
#[template(path = "repair_function.html")]
struct Page<'a> {
    frame: Frame,
    file: &'a str,
    function: &'a RepairedFunction,
}

/// The page of all functions, with the address of each page.
pub(crate) fn index(run: &RepairRun, pages: &[String]) -> Result<String, Error> {
    let page = Index {
        frame: Frame::alone(""),
        run,
        rows: pages.iter().cloned().zip(&run.functions).collect(),
    };
    Ok(page.render()?)
}

/// The page of one function.
pub(crate) fn render(run: &RepairRun, function: &RepairedFunction) -> Result<String, Error> {
    let page = Page {
        frame: Frame::alone(""),
        file: &run.file,
        function,
    };
    Ok(page.render()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_a_file_is_escaped() {
        let function = RepairedFunction {
            name: "<b>f</b>".to_owned(),
            columns: vec!["i".to_owned()],
            rows: vec![RepairedRow {
                at: "0x10".to_owned(),
                text: "add rax, 1 <script>".to_owned(),
                mark: String::new(),
                cells: vec![RepairedCell {
                    before: String::new(),
                    after: "(rax - 16)/4".to_owned(),
                    precision: "exact".to_owned(),
                }],
            }],
            ..RepairedFunction::default()
        };
        let page = render(&RepairRun::default(), &function).expect("a page");
        assert!(page.contains("(rax - 16)/4") && page.contains("exact"));
        assert!(!page.contains("<script>") && !page.contains("<b>f"));
    }
}

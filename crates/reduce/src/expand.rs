//! Headers expanded: a reproducer needs three declarations of them, not three thousand lines.

use candor_check::SILENT;
use candor_toolchain::{Compiler, Limits, Program, Sandbox, Scratch};

use crate::Error;
use crate::edit::Edit;
use crate::syntax::Tree;

/// A preprocessed program without its line marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The text.
    pub text: String,
    /// Where in it the program's own lines are, in order.
    own: Vec<std::ops::Range<usize>>,
}

/// The program after preprocessing by `compiler`; `None` when that fails.
pub fn expand(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    program: &Program,
) -> Result<Option<Expanded>, Error> {
    let directory = scratch.job()?;
    let name = program.file_name();
    directory.write(&name, &program.text)?;
    let job = compiler
        .job(directory.path())
        .args(["-E", "-w"])
        .args(program.flags.iter().cloned())
        .args(["-o", "expanded.i", &name]);
    let run = sandbox.run(&job, &Limits::compiler())?;
    if !run.ending.success() {
        return Ok(None);
    }
    let text = std::fs::read(directory.path().join("expanded.i")).ok();
    Ok(text
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(|text| without_marks(&text, &name)))
}

/// Takes out the line marks (`# 12 "file.h" 1 3`) and remembers whose lines are whose.
fn without_marks(preprocessed: &str, name: &str) -> Expanded {
    let mut expanded = Expanded::default();
    let mut is_own = true;
    for line in preprocessed.lines() {
        if let Some(mark) = line.strip_prefix("# ") {
            if let Some(file) = mark.split('"').nth(1) {
                is_own = file == name;
            }
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let start = expanded.text.len();
        expanded.text.push_str(line);
        expanded.text.push('\n');
        if is_own {
            let end = expanded.text.len();
            match expanded.own.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => expanded.own.push(start..end),
            }
        }
    }
    expanded
}

impl Expanded {
    fn is_own(&self, offset: usize) -> bool {
        self.own.iter().any(|range| range.contains(&offset))
    }

    /// Marks the functions that came from headers: what was looked at without barriers stays so.
    pub fn silenced(&self, tree: &Tree) -> Edit {
        let mut edit = Edit::new();
        for function in tree.of_kind("function_definition") {
            let start = tree.range(function).start;
            if self.is_own(start) {
                continue;
            }
            // Behind the first word: what stands before it is not the function's to clang.
            let text = tree.text_of(function);
            let first = text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
            let Some(first) =
                first.filter(|word| !matches!(*word, "" | "struct" | "union" | "enum"))
            else {
                continue;
            };
            let at = start + first.len();
            edit = edit.and(at..at, SILENT);
        }
        edit
    }
}

/// Takes the parentheses off function names, which headers put there against macros of the same name.
pub fn plain_names(tree: &Tree) -> Edit {
    let mut edit = Edit::new();
    for id in tree.of_kind("parenthesized_declarator") {
        let children = &tree.node(id).children;
        let (Some(name), Some(parent)) = (children.get(1), tree.node(id).parent) else {
            continue;
        };
        if tree.kind(*name) == "identifier" && tree.kind(parent) == "function_declarator" {
            edit = edit.and(tree.range(id), tree.text_of(*name));
        }
    }
    edit
}

/// Whether there is anything to expand.
pub fn has_directives(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::apply;
    use crate::syntax::parse;

    #[test]
    fn functions_of_headers_are_marked_and_our_own_are_not() {
        let text = "# 1 \"p.c\"\n# 1 \"<built-in>\" 1\n# 1 \"p.c\" 2\n# 1 \"h.h\" 1\nstatic int\n(f)(void)\n{ return 1; }\n\
                    # 2 \"p.c\" 2\n\nint main(void) { return f(); }\n";
        let expanded = without_marks(text, "p.c");
        let tree = parse(&expanded.text).unwrap();
        let edits = [expanded.silenced(&tree), plain_names(&tree)];
        let marked = apply(&expanded.text, &edits).unwrap();
        let tight: Vec<&str> = marked.split_whitespace().collect();
        assert_eq!(
            tight.join(" "),
            format!(
                "static {SILENT} int f (void) {{ return 1; }} int main(void) {{ return f(); }}"
            )
        );
    }
}

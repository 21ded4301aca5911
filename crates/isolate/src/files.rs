//! From the name of a pass, an option or a counter to the compiler's source files.
//!
//! The tables below `data/` are made from the compilers' own registrations by
//! `scripts/pass-tables.py` (see there for how the helpers of a pass are found): gcc's `pass_data`
//! objects, `*.opt` files and `dbg_cnt` calls; LLVM's `PassRegistry.def`, `INITIALIZE_PASS` and
//! `getPassName`. Files are named below `gcc/` and below `llvm/lib/`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// What a table knows about one name.
type Rows = HashMap<(&'static str, &'static str), Vec<&'static str>>;

fn parse(text: &'static str) -> Rows {
    let row = |line: &'static str| {
        let mut cells = line.split('\t');
        let (kind, name, rest) = (cells.next()?, cells.next()?, cells.next()?);
        Some(((kind, name), rest.split(' ').collect()))
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(row)
        .collect()
}

fn gcc() -> &'static Rows {
    static TABLE: OnceLock<Rows> = OnceLock::new();
    TABLE.get_or_init(|| parse(include_str!("../data/gcc.tsv")))
}

fn llvm() -> &'static Rows {
    static TABLE: OnceLock<Rows> = OnceLock::new();
    TABLE.get_or_init(|| parse(include_str!("../data/llvm.tsv")))
}

fn owned(found: Option<&Vec<&'static str>>) -> Vec<String> {
    found
        .into_iter()
        .flatten()
        .map(|word| (*word).to_owned())
        .collect()
}

/// `tree-forwprop` of `tree-forwprop3`: the pass without the number of its instance. Some passes end
/// in a digit of their own (`rtl-cse1`); those are in the table as they are.
pub fn family_of(pass: &str) -> &str {
    let bare = pass.trim_end_matches(|c: char| c.is_ascii_digit());
    if !gcc().contains_key(&("pass", pass)) && gcc().contains_key(&("pass", bare)) {
        bare
    } else {
        pass
    }
}

/// The files of a gcc pass (`tree-ivopts`), the likeliest first; empty when the table lacks it.
pub fn of_gcc_pass(pass: &str) -> Vec<String> {
    owned(gcc().get(&("pass", family_of(pass))))
}

/// The gcc passes that an option (`-fivopts`) opens or closes.
pub fn passes_of_gcc_option(option: &str) -> Vec<String> {
    owned(gcc().get(&("gates", option)))
}

/// The files that read an option, where they are few.
pub fn of_gcc_option(option: &str) -> Vec<String> {
    owned(gcc().get(&("option", option)))
}

/// The files that ask a debug counter.
pub fn of_gcc_counter(counter: &str) -> Vec<String> {
    owned(gcc().get(&("counter", counter)))
}

/// The name `-print-after` takes for an LLVM pass, given what `-opt-bisect-limit` prints.
pub fn llvm_argument(pass: &str) -> Option<&'static str> {
    let row = llvm().get(&("pass", without_template(pass)))?;
    row.first().copied().filter(|argument| *argument != "-")
}

/// The file of an LLVM pass, given what `-opt-bisect-limit` prints.
pub fn of_llvm_pass(pass: &str) -> Option<String> {
    let pass = without_template(pass);
    // LLVM 22 prints what `-print-after` takes
    let by_argument = || {
        let rows = llvm().iter();
        let found = rows.filter(|((kind, _), row)| *kind == "pass" && row.first() == Some(&pass));
        found.min_by_key(|(key, _)| *key).map(|(_, row)| row)
    };
    let row = llvm().get(&("pass", pass)).or_else(by_argument)?;
    row.get(1).map(|file| (*file).to_owned())
}

/// `RequireAnalysisPass` of `RequireAnalysisPass<llvm::GlobalsAA, llvm::Module>`.
fn without_template(pass: &str) -> &str {
    pass.split('<').next().unwrap_or(pass)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_lead_to_their_files() {
        assert_eq!(of_gcc_pass("tree-ivopts")[0], "tree-ssa-loop-ivopts.cc");
        assert_eq!(of_gcc_pass("tree-forwprop3")[0], "tree-ssa-forwprop.cc");
        assert_eq!(of_gcc_pass("rtl-loop2_invariant")[0], "loop-invariant.cc");
        assert!(of_gcc_pass("tree-pre").contains(&"tree-ssa-sccvn.cc".to_owned()));
        assert!(of_gcc_pass("tree-nonsense").is_empty());
        assert_eq!(
            of_llvm_pass("Loop Strength Reduction").as_deref(),
            Some("Transforms/Scalar/LoopStrengthReduce.cpp")
        );
        assert_eq!(
            of_llvm_pass("InstCombinePass").as_deref(),
            Some("Transforms/InstCombine/InstructionCombining.cpp")
        );
        assert_eq!(
            llvm_argument("Loop Strength Reduction"),
            Some("loop-reduce")
        );
    }

    #[test]
    fn instances_are_told_from_names_that_end_in_digits() {
        assert_eq!(family_of("tree-forwprop3"), "tree-forwprop");
        assert_eq!(family_of("rtl-cse1"), "rtl-cse1");
        assert_eq!(family_of("tree-ivopts"), "tree-ivopts");
    }

    #[test]
    fn options_and_counters_lead_to_passes_and_files() {
        assert_eq!(passes_of_gcc_option("-fivopts"), ["tree-ivopts"]);
        assert!(of_gcc_option("-fstrict-aliasing").is_empty());
        assert_eq!(of_gcc_option("-fcode-hoisting"), ["tree-ssa-pre.cc"]);
        assert_eq!(of_gcc_counter("ivopts_loop"), ["tree-ssa-loop-ivopts.cc"]);
    }
}

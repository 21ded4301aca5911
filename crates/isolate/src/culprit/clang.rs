//! clang: `-mllvm -opt-bisect-limit=N` leaves out every optional pass run after the N-th, code
//! generation included, in release builds too.
//!
//! The runs are listed once with their names; the least N whose build is bad is searched and checked
//! from both sides. Switches for single passes exist for some passes and in newer versions for all
//! (`-opt-disable`); where one is there it is tried, because unlike a number it means the same pass in
//! every program.
//!
//! One run is not what it seems: leaving *instruction selection* out makes LLVM select as for -O0, which
//! hides most of what earlier passes did to debug information. When the search ends there, the
//! switches of the code generation passes before it are tried one by one, and a pass that cures
//! leads. In the same way SROA, which takes a variable out of memory, cures whatever is wrong with the
//! locations of values. Both are named as unspecific and never lead alone.

use candor_toolchain::rustc::readable;

use crate::Error;
use crate::answer::{Cure, CureKind, Isolation, Outcome, Run, Suspect};
use crate::culprit::search::{Edge, edge};
use crate::files;
use crate::probe::{Bench, Seen};

/// One run of a pass, as `-opt-bisect-limit` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassRun {
    /// Its number, from 1.
    pub number: u64,
    /// The pass: a class name, or a title for code generation passes.
    pub pass: String,
    /// What it worked on, in LLVM's words: `[module]`, `function (main)`, `loop %3 in function main`.
    pub unit: String,
}

impl PassRun {
    /// The function it worked on, where the unit says.
    pub fn function(&self) -> Option<&str> {
        if let Some((_, function)) = self.unit.rsplit_once(" in function ") {
            return Some(function);
        }
        let inner = self
            .unit
            .strip_prefix("function (")
            .or_else(|| self.unit.strip_prefix('('))
            .and_then(|rest| rest.strip_suffix(')'));
        match inner {
            Some(one) if !one.contains(", ") => Some(one),
            Some(_) => None,
            // new-style function passes print the bare name
            None if self.unit.contains([' ', '[', '<']) || self.unit == "loop" => None,
            None => Some(&self.unit),
        }
    }
}

/// The runs in what clang printed.
pub fn runs(printed: &str) -> Vec<PassRun> {
    let parse = |line: &str| {
        let rest = line.strip_prefix("BISECT: running pass (")?;
        let (number, rest) = rest.split_once(") ")?;
        let (pass, unit) = rest.split_once(" on ")?;
        Some(PassRun {
            number: number.parse().ok()?,
            pass: pass.to_owned(),
            unit: unit.to_owned(),
        })
    };
    printed.lines().filter_map(parse).collect()
}

/// The flags that allow the first `number` runs only.
pub fn limit(number: u64) -> Vec<String> {
    vec!["-mllvm".into(), format!("-opt-bisect-limit={number}")]
}

/// Switches that some passes have, by the pass's name; tried, never trusted.
const SWITCHES: &[(&str, &[&str])] = &[
    ("Loop Strength Reduction", &["-mllvm", "-disable-lsr"]),
    ("loop-reduce", &["-mllvm", "-disable-lsr"]),
    ("licm", &["-mllvm", "-disable-licm-promotion"]),
    ("LICMPass", &["-mllvm", "-disable-licm-promotion"]),
    ("CodeGen Prepare", &["-mllvm", "-disable-cgp"]),
    ("Machine code sinking", &["-mllvm", "-disable-machine-sink"]),
    (
        "PostRA Machine Sink",
        &["-mllvm", "-disable-postra-machine-sink"],
    ),
    (
        "Machine Common Subexpression Elimination",
        &["-mllvm", "-disable-machine-cse"],
    ),
    (
        "Early Machine Loop Invariant Code Motion",
        &["-mllvm", "-disable-machine-licm"],
    ),
    (
        "Machine Loop Invariant Code Motion",
        &["-mllvm", "-disable-postra-machine-licm"],
    ),
    (
        "Branch Probability Basic Block Placement",
        &["-mllvm", "-disable-block-placement"],
    ),
    (
        "Control Flow Optimizer",
        &["-mllvm", "-disable-branch-fold"],
    ),
    ("Tail Duplication", &["-mllvm", "-disable-tail-duplicate"]),
    (
        "Early Tail Duplication",
        &["-mllvm", "-disable-early-taildup"],
    ),
    ("Stack Slot Coloring", &["-mllvm", "-disable-ssc"]),
    (
        "Machine Copy Propagation Pass",
        &["-mllvm", "-disable-copyprop"],
    ),
    ("Peephole Optimizations", &["-mllvm", "-disable-peephole"]),
    (
        "Remove dead machine instructions",
        &["-mllvm", "-disable-machine-dce"],
    ),
    (
        "LoopIdiomRecognizePass",
        &["-mllvm", "-disable-loop-idiom-all"],
    ),
    ("LoopVectorizePass", &["-fno-vectorize"]),
    ("SLPVectorizerPass", &["-fno-slp-vectorize"]),
    ("LoopUnrollPass", &["-fno-unroll-loops"]),
    ("LoopFullUnrollPass", &["-fno-unroll-loops"]),
    ("InlinerPass", &["-fno-inline"]),
    (
        "Merge contiguous icmps into a memcmp",
        &["-mllvm", "-disable-mergeicmps"],
    ),
    (
        "Constant Hoisting",
        &["-mllvm", "-disable-constant-hoisting"],
    ),
    (
        "Partially inline calls to library functions",
        &["-mllvm", "-disable-partial-libcall-inlining"],
    ),
    ("Early If-Conversion", &["-mllvm", "-disable-early-ifcvt"]),
    (
        "X86 cmov Conversion",
        &["-mllvm", "-x86-cmov-converter=false"],
    ),
    ("X86 LEA Optimize", &["-mllvm", "-disable-x86-lea-opt"]),
    (
        "X86 Domain Reassignment Pass",
        &["-mllvm", "-disable-x86-domain-reassignment"],
    ),
    (
        "X86 Avoid Store Forwarding Blocks",
        &["-mllvm", "-x86-disable-avoid-SFB"],
    ),
];

/// How every target's instruction selector is called.
const SELECTION: &str = " Instruction Selection";

/// The passes that take variables out of memory.
const PROMOTION: &[&str] = &["SROAPass", "PromotePass", "sroa", "mem2reg"];

/// Whether a pass selects instructions; LLVM 22 prints the short names of passes.
fn is_selection(pass: &str) -> bool {
    pass.ends_with(SELECTION) || pass.ends_with("-isel")
}

/// The runs of the whole build; the error says what clang answered instead.
pub fn list(bench: &Bench<'_>) -> Result<Vec<PassRun>, Error> {
    let everything = "-opt-bisect-limit=-1"; // counts and prints, leaves nothing out
    let flags = ["-mllvm", everything, "-c", "-o", "program.o"].map(str::to_owned);
    let (said, _) = bench.compile(&flags)?;
    let text = said.stderr_text();
    let runs = runs(&text);
    if runs.is_empty() {
        return Err(Error::Flag {
            compiler: bench.compiler.name.clone(),
            flag: "-mllvm -opt-bisect-limit".into(),
            met: match text.lines().next() {
                Some(line) => line.to_owned(),
                None => "it prints no pass (is it built with assertions off and its own options?)"
                    .into(),
            },
        });
    }
    Ok(runs)
}

/// Bisects; the culprit and its cures go into `answer`. Returns the run to blame.
pub fn isolate(bench: &Bench<'_>, answer: &mut Isolation) -> Result<Option<PassRun>, Error> {
    bench.report("listing pass runs");
    let runs = list(bench)?;
    answer.effort.passes = runs.len();
    let total = runs.last().map_or(0, |run| run.number);
    match bench.test(&limit(0))? {
        Seen::Good => {}
        Seen::Bad => {
            answer.outcome = Outcome::NoCure(
                "the claim holds with every optional pass left out: the front end or a mandatory \
                 part of code generation (instruction selection, register allocation) is to blame"
                    .into(),
            );
            return Ok(None);
        }
        Seen::Broken(words) => {
            answer.outcome = Outcome::NoCure(format!(
                "with every optional pass left out, nothing can be told: {words}"
            ));
            return Ok(None);
        }
    }
    if bench.test(&limit(total))? != Seen::Bad {
        answer.outcome = Outcome::NoCure(
            "the claim does not hold when pass runs are counted (-opt-bisect-limit), though none is \
             left out"
                .into(),
        );
        return Ok(None);
    }
    let found = edge(0, total, bench.jobs(), &|numbers| {
        bench.report(&format!("bisecting {total} pass runs"));
        let sets: Vec<Vec<String>> = numbers.iter().map(|number| limit(*number)).collect();
        bench.test_all(&sets)
    })?;
    explain(&found, &runs, answer);
    let Some(run) = runs.iter().find(|run| run.number == found.bad).cloned() else {
        answer.outcome = Outcome::NoCure(format!("clang lists no pass run {}", found.bad));
        return Ok(None);
    };
    answer.cures.push(Cure {
        kind: CureKind::Limit,
        name: format!("pass runs from {} on", found.bad),
        flags: limit(found.good),
        position: None,
        unspecific: false,
    });
    let mut suspect = Suspect {
        pass: run.pass.clone(),
        files: files::of_llvm_pass(&run.pass).into_iter().collect(),
        place: Some(readable(&run.unit)),
        run: Some(Run {
            number: found.bad,
            total,
            last_good: found.good,
        }),
        why: vec![format!(
            "bad with the first {} pass runs, good with the first {}",
            found.bad, found.good
        )],
        ..Suspect::default()
    };
    bench.report("looking for a switch of that pass");
    for flags in switches(bench, &run.pass)? {
        if bench.test(&flags)? == Seen::Good {
            suspect.why.push(format!("good with {}", flags.join(" ")));
            answer.cures.push(Cure {
                kind: CureKind::Pass,
                name: run.pass.clone(),
                flags: flags.clone(),
                position: None,
                unspecific: false,
            });
            suspect.disable = flags;
            break;
        }
    }
    if bench.about_debug_information() && is_selection(&run.pass) {
        suspect.unspecific = true;
        before_selection(bench, &runs, &run, answer)?;
    }
    if bench.about_debug_information() && PROMOTION.contains(&run.pass.as_str()) {
        suspect.unspecific = true;
        answer.notes.push(format!(
            "{} takes the variable out of memory; what is wrong with its location may come from \
             register allocation or LiveDebugValues, which are never left out",
            run.pass
        ));
    }
    answer.suspects.push(suspect);
    // runs that cannot be told apart from it
    for other in runs
        .iter()
        .filter(|r| r.number > found.good && r.number < found.bad)
    {
        answer.suspects.push(Suspect {
            pass: other.pass.clone(),
            files: files::of_llvm_pass(&other.pass).into_iter().collect(),
            place: Some(readable(&other.unit)),
            why: vec![format!(
                "nothing can be told with the first {} runs",
                other.number
            )],
            ..Suspect::default()
        });
    }
    if answer.suspects.first().is_some_and(|lead| lead.unspecific) {
        answer.outcome = Outcome::NoCure(format!(
            "the search ends at {}, which cures most wrong locations when it is left out, and no \
             switch of another pass does: an earlier pass without a switch, or a mandatory part of \
             code generation, is to blame",
            run.pass
        ));
        return Ok(None);
    }
    answer.outcome = Outcome::Found;
    let leads = |run: &&PassRun| {
        answer
            .suspects
            .first()
            .is_some_and(|one| one.pass == run.pass)
    };
    Ok(runs.iter().rev().find(leads).cloned())
}

/// The passes before instruction selection that have a switch which cures, the last one first.
fn before_selection(
    bench: &Bench<'_>,
    runs: &[PassRun],
    selection: &PassRun,
    answer: &mut Isolation,
) -> Result<(), Error> {
    let mut tried: Vec<(u64, &str, Vec<String>)> = Vec::new();
    for (pass, flags) in SWITCHES {
        let last = runs
            .iter()
            .rev()
            .find(|run| run.number < selection.number && run.pass == *pass);
        if let Some(last) = last {
            let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
            tried.push((last.number, pass, flags));
        }
    }
    tried.sort_by_key(|(number, _, _)| std::cmp::Reverse(*number));
    bench.report(&format!(
        "{} switches of passes before selection",
        tried.len()
    ));
    let sets: Vec<Vec<String>> = tried.iter().map(|(_, _, flags)| flags.clone()).collect();
    let answers = bench.test_all(&sets)?;
    for ((_, pass, flags), seen) in tried.into_iter().zip(answers) {
        if seen != Seen::Good {
            continue;
        }
        answer.cures.push(Cure {
            kind: CureKind::Pass,
            name: pass.to_owned(),
            flags: flags.clone(),
            position: None,
            unspecific: false,
        });
        answer.suspects.push(Suspect {
            pass: pass.to_owned(),
            files: files::of_llvm_pass(pass).into_iter().collect(),
            why: vec![format!(
                "good with {}; the search ends at instruction selection, which hides what earlier \
                 passes did when it is left out",
                flags.join(" ")
            )],
            disable: flags,
            ..Suspect::default()
        });
    }
    Ok(())
}

/// The switches this compiler takes for a pass.
fn switches(bench: &Bench<'_>, pass: &str) -> Result<Vec<Vec<String>>, Error> {
    let mut found = Vec::new();
    let workshop = bench.workshop;
    let takes = |flags: &[String]| {
        bench
            .compiler
            .supports(workshop.sandbox, workshop.scratch, &flags.join(" "))
    };
    for (name, flags) in SWITCHES {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        if *name == pass && takes(&flags)? {
            found.push(flags);
        }
    }
    let disable = |name: &str| vec!["-mllvm".to_owned(), format!("-opt-disable={name}")];
    if takes(&disable("none"))? {
        found.push(disable(pass));
        found.extend(files::llvm_argument(pass).map(disable));
    }
    Ok(found)
}

fn explain(found: &Edge, runs: &[PassRun], answer: &mut Isolation) {
    if !found.monotone {
        let name = |number: u64| {
            runs.iter()
                .find(|run| run.number == number)
                .map_or_else(String::new, |run| format!(" ({})", run.pass))
        };
        let mut pattern: Vec<String> = Vec::new();
        let mut last: Option<&Seen> = None;
        for (number, seen) in &found.samples {
            if matches!(seen, Seen::Broken(_)) || last == Some(seen) {
                continue;
            }
            let word = if *seen == Seen::Bad { "bad" } else { "good" };
            pattern.push(format!("{word} from {number}{}", name(*number)));
            last = Some(seen);
        }
        answer.notes.push(format!(
            "not monotone: the claim comes and goes with the number of pass runs ({}); the last change is named",
            pattern.join(", ")
        ));
    }
    if found.bad - found.good > 1 {
        answer.notes.push(format!(
            "nothing can be told with {} to {} pass runs: the culprit is one of {} to {}",
            found.good + 1,
            found.bad - 1,
            found.good + 1,
            found.bad
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_with_their_functions() {
        let printed = "noise\n\
            BISECT: running pass (5) LowerExpectIntrinsicPass on main\n\
            BISECT: running pass (9) OpenMPOptPass on [module]\n\
            BISECT: running pass (17) InlinerPass on (main)\n\
            BISECT: running pass (18) InlinerPass on (a, b)\n\
            BISECT: running pass (37) LICMPass on loop %<unnamed loop> in function main\n\
            BISECT: running pass (110) Loop Strength Reduction on loop\n\
            BISECT: NOT running pass (112) Expand memcmp() to load/stores on function (main)\n\
            BISECT: running pass (111) Merge contiguous icmps into a memcmp on function (f.part.0)\n";
        let runs = runs(printed);
        let functions: Vec<Option<&str>> = runs.iter().map(PassRun::function).collect();
        assert_eq!(
            functions,
            [
                Some("main"),
                None,
                Some("main"),
                None,
                Some("main"),
                None,
                Some("f.part.0")
            ]
        );
        assert_eq!(runs[5].pass, "Loop Strength Reduction");
        assert_eq!(runs[5].number, 110);
    }
}

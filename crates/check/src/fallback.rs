//! Programs that one family of compilers does not take: `_BitInt` and vector built-ins of clang, global register
//! variables of gcc. What is usual is tried first; where a compiler refuses the program, others of those that take it
//! make the references, and the report says which, and why.
//!
//! The same for the sanitizers, which are clang's: gcc has some of its own, but none for memory that was never written.

use candor_toolchain::{Compiler, Family, Gate, GateVerdict, Limits, Program, Sanitizer};

use crate::plan::Plan;
use crate::truth::{Reference, Truth, references_of};
use crate::workshop::Workshop;
use crate::{Error, Settings, Toolset};

/// References that could be built, and what they agree on.
pub(crate) struct Established<'a> {
    pub(crate) references: Vec<Reference<'a>>,
    pub(crate) truth: Truth,
    /// What a reader should know of the choice.
    pub(crate) notes: Vec<String>,
}

/// References: as many.
const ENOUGH: usize = 3;
const ZERO: &str = "-ftrivial-auto-var-init=zero";
const PATTERN: &str = "-ftrivial-auto-var-init=pattern";

/// Builds and runs the references: the usual ones, or others where compilers refuse the program.
pub(crate) fn establish<'a>(
    tools: &Toolset<'a>,
    program: &Program,
    plan: &Plan,
    under_test: Option<&'a Compiler>,
    settings: &Settings,
) -> Result<Established<'a>, Error> {
    let workshop = tools.workshop;
    let usual = references_of(workshop, tools.compilers, program, under_test)?;
    let first = match Truth::establish(workshop, program, plan, &usual, settings) {
        Ok(truth) => {
            return Ok(Established {
                references: usual,
                truth,
                notes: Vec::new(),
            });
        }
        Err(error @ Error::Unfit { .. }) if !program.is_rust() => error,
        Err(error) => return Err(error),
    };
    let mut able = Vec::new();
    let mut notes = Vec::new();
    let mut heard = Vec::new();
    for compiler in candidates(tools.compilers, under_test) {
        match refusal(workshop, compiler, program, &plan.text, &["-O0".into()])? {
            None => able.push(compiler),
            // the newest of a family speaks for it
            Some(reason) if !heard.contains(&compiler.family) => {
                heard.push(compiler.family);
                notes.push(refusal_note(workshop, compiler, program, &reason)?);
            }
            Some(_) => {}
        }
    }
    let refused = |reference: &Reference<'_>| {
        !able
            .iter()
            .any(|able| std::ptr::eq(*able, reference.compiler))
    };
    // Nobody refused it, or nobody takes it: another choice changes nothing.
    if able.is_empty() || !usual.iter().any(refused) {
        return Err(first);
    }
    let references = choose(workshop, &able)?;
    let truth = Truth::establish(workshop, program, plan, &references, settings)?;
    notes.push(format!(
        "the references are of {} only: {}",
        families(&references),
        listed(&references)
    ));
    Ok(Established {
        references,
        truth,
        notes,
    })
}

/// Compilers that references can be made with, newest first: those found, and the one under test if its command is
/// not among them. A command with flags of its own comes last: it stands for a compiler only if no plain one does.
fn candidates<'a>(
    compilers: &'a [Compiler],
    under_test: Option<&'a Compiler>,
) -> Vec<&'a Compiler> {
    let mut all: Vec<&Compiler> = compilers
        .iter()
        .chain(under_test)
        .filter(|compiler| matches!(compiler.family, Family::Gcc | Family::Clang))
        .collect();
    all.sort_by_key(|compiler| {
        (
            compiler.has_own_flags(),
            std::cmp::Reverse(compiler.version),
        )
    });
    let mut known: Vec<&Compiler> = Vec::new();
    for compiler in all {
        if compiler.has_own_flags() || !known.iter().any(|other| other.path == compiler.path) {
            known.push(compiler);
        }
    }
    known
}

/// Three references with two different contents of the stack at least, and as many compilers as there are.
fn choose<'a>(workshop: &Workshop<'_>, able: &[&'a Compiler]) -> Result<Vec<Reference<'a>>, Error> {
    let mut chosen: Vec<Reference<'a>> = Vec::new();
    let mut versions = Vec::new();
    let mut distinct = Vec::new();
    for compiler in able {
        let is = (compiler.family, compiler.version);
        if !versions.contains(&is) {
            versions.push(is);
            distinct.push(*compiler);
        }
    }
    let can = |compiler: &Compiler, flag: &str| {
        compiler.supports(workshop.sandbox, workshop.scratch, flag)
    };
    let make = |compiler: &'a Compiler, flag: Option<&str>| Reference {
        compiler,
        flags: ["-O0"].into_iter().chain(flag).map(str::to_owned).collect(),
    };
    // The one that can fill its stack both ways records; failing that, the newest.
    let mut first = None;
    for compiler in &distinct {
        if can(compiler, ZERO)? && can(compiler, PATTERN)? {
            first = Some(*compiler);
            break;
        }
    }
    match first.or(distinct.first().copied()) {
        Some(compiler) if first.is_some() => chosen.push(make(compiler, Some(ZERO))),
        Some(compiler) => chosen.push(make(compiler, None)),
        None => return Ok(chosen),
    }
    let recorder = chosen.first().map(|reference| reference.compiler);
    let is_recorder =
        |compiler: &Compiler| recorder.is_some_and(|recorder| std::ptr::eq(recorder, compiler));
    for compiler in distinct.iter().filter(|compiler| !is_recorder(compiler)) {
        if chosen.len() < ENOUGH {
            let flag = can(compiler, PATTERN)?.then_some(PATTERN);
            chosen.push(make(compiler, flag));
        }
    }
    let patterned = |chosen: &[Reference<'_>]| {
        let pattern =
            |reference: &Reference<'_>| reference.flags.iter().any(|flag| flag == PATTERN);
        chosen.iter().any(pattern)
    };
    if let Some(compiler) = first {
        if !patterned(&chosen) {
            chosen.truncate(ENOUGH - 1);
            chosen.push(make(compiler, Some(PATTERN)));
        }
        // what the stack holds by itself is another content still
        if chosen.len() < ENOUGH {
            chosen.push(make(compiler, None));
        }
    }
    Ok(chosen)
}

/// Why a compiler does not take a program; `None` when it does.
fn refusal(
    workshop: &Workshop<'_>,
    compiler: &Compiler,
    program: &Program,
    text: &str,
    flags: &[String],
) -> Result<Option<String>, Error> {
    let compiled = workshop.compile(compiler, program, text, flags, &Limits::compiler())?;
    Ok(compiled.err().map(|built| built.describe()))
}

/// A refusal in words, with the way out where it is a flag of the user's that is refused.
fn refusal_note(
    workshop: &Workshop<'_>,
    compiler: &Compiler,
    program: &Program,
    reason: &str,
) -> Result<String, Error> {
    for flag in &program.flags {
        if !compiler.supports(workshop.sandbox, workshop.scratch, flag)? {
            let other = match compiler.family {
                Family::Gcc => "clang-19",
                _ => "gcc-12",
            };
            return Ok(format!(
                "{compiler} does not take {flag}: it made no reference. To give a flag to one compiler only: --cc \
                 '{other} {flag}'"
            ));
        }
    }
    Ok(format!("{compiler} does not take the program: {reason}"))
}

/// References in words: `gcc-12 -O0 -ftrivial-auto-var-init=zero`.
pub(crate) fn words(references: &[Reference<'_>]) -> Vec<String> {
    let one =
        |reference: &Reference<'_>| format!("{} {}", reference.compiler, reference.flags.join(" "));
    references.iter().map(one).collect()
}

fn listed(references: &[Reference<'_>]) -> String {
    words(references).join(", ")
}

fn families(references: &[Reference<'_>]) -> String {
    let mut names: Vec<String> = references
        .iter()
        .map(|reference| reference.compiler.family.to_string())
        .collect();
    names.sort();
    names.dedup();
    names.join(" and ")
}

/// Lets sanitizers judge a program: clang's, or another's where clang does not take it. Gives the gate that did, for
/// the questions that come later, and what a reader should know.
pub(crate) fn judge<'a>(
    tools: &Toolset<'a>,
    program: &Program,
    settings: &Settings,
) -> Result<(Gate<'a>, Vec<String>), Error> {
    let (sandbox, scratch) = (tools.workshop.sandbox, tools.workshop.scratch);
    let gate = tools.gate;
    let verdict = gate.judge(program, settings.time)?;
    let reason = match verdict {
        GateVerdict::Undecided { reason } => reason,
        decided => return accept(decided).map(|()| (gate, Vec::new())),
    };
    let flags: Vec<String> = ["-O0", "-w"].map(String::from).to_vec();
    let takes = |compiler: &Compiler| -> Result<bool, Error> {
        Ok(refusal(tools.workshop, compiler, program, &program.text, &flags)?.is_none())
    };
    // Something else went wrong than that clang does not take it.
    if takes(gate.compiler())? {
        return Err(Error::unfit(reason));
    }
    for compiler in candidates(tools.compilers, None) {
        if std::ptr::eq(compiler, gate.compiler()) || !takes(compiler)? {
            continue;
        }
        let Some(other) = Gate::of(compiler, sandbox, scratch)? else {
            continue;
        };
        accept(other.judge(program, settings.time)?)?;
        let mut note = format!(
            "{} does not take the program ({reason}): the sanitizers of {compiler} judged it",
            gate.compiler()
        );
        if !other.sanitizers().contains(&Sanitizer::Memory) {
            note += ", which do not see memory that was never written";
        }
        return Ok((other, vec![note]));
    }
    Err(Error::unfit(format!(
        "no compiler with sanitizers takes it, so nobody can judge whether it has undefined behaviour: {reason}"
    )))
}

/// What a verdict means for a check.
fn accept(verdict: GateVerdict) -> Result<(), Error> {
    match verdict {
        GateVerdict::Clean { .. } => Ok(()),
        GateVerdict::Undefined { sanitizer, message } => Err(Error::unfit(format!(
            "it has undefined behaviour ({}): {message}",
            sanitizer.name()
        ))),
        GateVerdict::Unfit { reason } | GateVerdict::Undecided { reason } => {
            Err(Error::unfit(reason))
        }
    }
}

/// A program that libclang does not read, and some gcc takes: what to say of it.
pub(crate) fn explain(tools: &Toolset<'_>, program: &Program, error: Error) -> Error {
    if !matches!(error, Error::Source(candor_source::Error::Syntax { .. })) || program.is_rust() {
        return error;
    }
    let flags: Vec<String> = ["-O0", "-w"].map(String::from).to_vec();
    let takes = |compiler: &&&Compiler| {
        let refused = refusal(tools.workshop, compiler, program, &program.text, &flags);
        matches!(refused, Ok(None))
    };
    let gcc = tools
        .compilers
        .iter()
        .rev()
        .filter(|compiler| compiler.family == Family::Gcc);
    let gcc: Vec<&Compiler> = gcc.collect();
    match gcc.iter().find(takes) {
        Some(compiler) => Error::unfit(format!(
            "{compiler} takes it, but candor reads C with libclang, which does not. What only gcc knows, such as \
             nested functions, cannot be checked: {error}"
        )),
        None => error,
    }
}

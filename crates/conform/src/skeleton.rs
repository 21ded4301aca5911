//! The fix in words a pass author can use: the paper's update skeleton (section 4, Table 3), and a
//! regression test for it.
//!
//! With the pass's source at hand the skeleton names the variable that holds the destination, read
//! from the statement at the site; without it, the destination's name in the IR stands in.

use std::path::Path;

use candor_llvm::{Location, Run};

use crate::site::Site;
use crate::update::{Required, Update};

/// What to add to the pass.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skeleton {
    /// `Line 759: Drop(AccRecInstrNew)`.
    pub update: String,
    /// `AccRecInstrNew->dropLocation();`.
    pub call: String,
    /// The statement it belongs behind, if the source is at hand.
    pub statement: Option<String>,
}

/// The skeleton of a site. `sources` is LLVM's source tree.
pub fn skeleton(site: &Site, sources: Option<&Path>) -> Skeleton {
    let statement = sources.and_then(|sources| statement_at(site, sources));
    let variable = statement
        .as_deref()
        .and_then(destination_variable)
        .unwrap_or_else(|| ir_name(&site.example.update));
    let origin = statement.as_deref().and_then(source_variable);
    let sources: Vec<String> = match origin {
        Some(origin) => vec![origin],
        None => source_names(site),
    };
    let place = match site.line() {
        Some(line) if line.line > 0 => format!("Line {}", line.line),
        _ => format!("At {}", site.frame.describe()),
    };
    let (update, call) = match site.required {
        Some(Required::Drop) => (
            format!("Drop({variable})"),
            format!("{variable}->dropLocation();"),
        ),
        Some(Required::Merge) => {
            let arguments: Vec<String> = sources
                .iter()
                .map(|source| format!("{source}->getDebugLoc()"))
                .collect();
            (
                format!("Merge({variable}, {})", sources.join(", ")),
                format!("{variable}->applyMergedLocation({});", arguments.join(", ")),
            )
        }
        Some(Required::Preserve) | None => {
            let source = sources.first().cloned().unwrap_or_else(|| "Src".to_owned());
            (
                format!("Preserve({variable}, {source})"),
                format!("{variable}->setDebugLoc({source}->getDebugLoc());"),
            )
        }
    };
    Skeleton {
        update: format!("{place}: {update}"),
        call,
        statement: statement.map(|text| text.trim().to_owned()),
    }
}

/// The name an instruction has in IR text, else what it is.
fn ir_name(update: &Update) -> String {
    match update.text.split_once(" = ") {
        Some((name, _)) if name.starts_with('%') => name.to_owned(),
        _ => format!("<the new {}>", update.opcode.name()),
    }
}

fn source_names(site: &Site) -> Vec<String> {
    let update = &site.example.update;
    let deciding = update
        .candidates
        .iter()
        .find(|candidate| candidate.rule == site.example.verdict.rule);
    deciding.map_or_else(Vec::new, |candidate| {
        candidate
            .sources
            .iter()
            .take(4)
            .map(|source| {
                let line = match source.location {
                    Location::Line(line) => format!(" of line {line}"),
                    Location::None | Location::Zero => String::new(),
                };
                format!("<the {}{line}>", source.opcode.name())
            })
            .collect()
    })
}

/// The source statement that ends on the site's line.
fn statement_at(site: &Site, sources: &Path) -> Option<String> {
    let line = site.line().filter(|line| line.line > 0)?;
    let file = candor_llvm::attribute::find_source(sources, &line.file)?;
    let text = std::fs::read_to_string(file).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let last = usize::try_from(line.line).ok()?.checked_sub(1)?;
    let mut first = last;
    // Upwards to the end of the statement before.
    while first > 0 && last - first < 4 {
        let above = lines.get(first - 1)?.trim_end();
        if above.is_empty()
            || above.ends_with([';', '{', '}', ':'])
            || above.trim_start().starts_with("//")
        {
            break;
        }
        first -= 1;
    }
    let mut end = last;
    // Downwards to its own end.
    while end - last < 3 && !lines.get(end)?.trim_end().ends_with([';', '{']) {
        end += 1;
    }
    Some(
        lines
            .get(first..=end)?
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// `Instruction *New = Old->clone();` → `New`; `I->moveBefore(X);` → `I`.
fn destination_variable(statement: &str) -> Option<String> {
    if let Some((left, _)) = split_assignment(statement) {
        return last_identifier(left);
    }
    for call in ["->moveBefore", "->moveAfter", ".moveBefore", ".moveAfter"] {
        if let Some((left, _)) = statement.split_once(call) {
            return last_identifier(left);
        }
    }
    None
}

/// `Instruction *New = Old->clone();` → `Old`.
fn source_variable(statement: &str) -> Option<String> {
    let (left, _) = statement
        .split_once("->clone()")
        .or_else(|| statement.split_once(".clone()"))?;
    last_identifier(left)
}

/// Splits at the `=` of an assignment (not `==`, `<=`, ...).
fn split_assignment(statement: &str) -> Option<(&str, &str)> {
    let bytes = statement.as_bytes();
    let at = (1..bytes.len().saturating_sub(1)).find(|&at| {
        bytes[at] == b'=' && bytes[at + 1] != b'=' && !b"=!<>+-*/|&^".contains(&bytes[at - 1])
    })?;
    // A `=` inside a call's arguments is none of ours.
    let left = &statement[..at];
    (left.matches('(').count() == left.matches(')').count()).then(|| (left, &statement[at + 1..]))
}

fn last_identifier(text: &str) -> Option<String> {
    let text = text.trim_end();
    let start = text
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + 1);
    let name = text.get(start..)?;
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    starts_well.then(|| name.to_owned())
}

/// A test for LLVM's own suite: RUN line, input with locations, and what the location must be.
pub fn regression_test(site: &Site, run: &Run, before: &str) -> String {
    let update = &site.example.update;
    let mut options = format!("-passes='{}'", run.pipeline);
    if let Some(triple) = &run.triple {
        options.push_str(&format!(" -mtriple={triple}"));
    }
    for (name, value) in [("-mcpu=", &run.cpu), ("-mattr=", &run.features)] {
        if !value.is_empty() {
            options.push_str(&format!(" {name}{value}"));
        }
    }
    for option in &run.options {
        options.push_str(&format!(" {option}"));
    }
    let (pattern, rest) = pattern(update);
    let source = update
        .candidates
        .iter()
        .find(|candidate| candidate.rule == site.example.verdict.rule)
        .and_then(|candidate| candidate.sources.first())
        .and_then(|source| source.location.line());
    let checks = match (site.required, source) {
        (Some(Required::Drop), _) => match rest.as_str() {
            "" => format!("; CHECK: {pattern}{{{{$}}}}\n"),
            rest => format!("; CHECK: {pattern}{rest}\n"),
        },
        (Some(Required::Merge), _) => format!(
            "; CHECK: {pattern}, !dbg [[LOC:![0-9]+]]\n; CHECK: [[LOC]] = !DILocation(line: 0,\n"
        ),
        (_, Some(line)) => format!(
            "; CHECK: {pattern}, !dbg [[LOC:![0-9]+]]\n; CHECK: [[LOC]] = !DILocation(line: {line},\n"
        ),
        (_, None) => format!("; CHECK: {pattern}, !dbg\n"),
    };
    let body: String = before
        .lines()
        .filter(|line| !line.starts_with("; ModuleID") && !line.starts_with("source_filename"))
        .map(|line| format!("{line}\n"))
        .collect();
    format!(
        "; RUN: opt -S {options} < %s | FileCheck %s\n;\n; {} in {}: {}.\n;\n; CHECK-LABEL: define {{{{.*}}}}@{}(\n{checks}\n{}",
        match site.required {
            Some(required) => required.to_string(),
            None => "A location".to_owned(),
        },
        site.place(),
        site.reason,
        update.function,
        body.trim_start(),
    )
}

/// The destination's text without its location as a FileCheck pattern, and the first attachment that
/// follows a location (its number may change).
fn pattern(update: &Update) -> (String, String) {
    let text = update.text.lines().next().unwrap_or_default();
    let (text, rest) = match text.split_once(", !dbg ") {
        Some((text, rest)) => (text, rest),
        None => match text.find(", !") {
            Some(at) => text.split_at(at),
            None => (text, ""),
        },
    };
    let attachment = match rest.split_once(", !") {
        Some((_, rest)) => format!(", !{}", rest.split(' ').next().unwrap_or_default()),
        None => String::new(),
    };
    let pattern = match text.split_once(" = ") {
        Some((_, right)) => format!("{{{{%.*}}}} = {}", literal(right.trim())),
        None => literal(text.trim()),
    };
    (pattern, attachment)
}

/// FileCheck's own brackets inside IR text.
fn literal(text: &str) -> String {
    text.replace("[[", "{{\\[\\[}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_know_other_attachments() {
        let of = |text: &str| {
            let mut update = crate::filters::fixture::lost();
            update.text = text.to_owned();
            pattern(&update)
        };
        let split = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            of("%x = load i32, ptr %p, align 4, !dbg !22, !tbaa !23"),
            split("{{%.*}} = load i32, ptr %p, align 4", ", !tbaa")
        );
        assert_eq!(
            of("%x = load i32, ptr %p, align 4, !tbaa !23, !noundef !4"),
            split("{{%.*}} = load i32, ptr %p, align 4", ", !tbaa")
        );
        assert_eq!(of("br label %a, !dbg !3"), split("br label %a", ""));
        assert_eq!(
            of("store [2 x i32] [[1 x i32] zeroinitializer], ptr %p"),
            split(
                "store [2 x i32] {{\\[\\[}}1 x i32] zeroinitializer], ptr %p",
                ""
            )
        );
    }

    #[test]
    fn variables_are_read_from_statements() {
        let clone = "Instruction *AccRecInstrNew = AccRecInstr->clone();";
        assert_eq!(
            destination_variable(clone).as_deref(),
            Some("AccRecInstrNew")
        );
        assert_eq!(source_variable(clone).as_deref(), Some("AccRecInstr"));
        assert_eq!(
            destination_variable("I0->moveBefore(&*BBEnd->getFirstInsertionPt());").as_deref(),
            Some("I0")
        );
        assert_eq!(destination_variable("BranchInst::Create(Succ, BB);"), None);
        assert_eq!(destination_variable("if (A == B) F(C = 1);"), None);
        assert_eq!(
            destination_variable("auto *Sub = BinaryOperator::CreateSub(X, Mul);").as_deref(),
            Some("Sub")
        );
    }
}

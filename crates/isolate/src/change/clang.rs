//! LLVM IR, or machine code, before and after one run of a pass.
//!
//! For the passes of the optimiser: `-emit-llvm` with the limit before and at the run; whatever runs
//! later is left out in both. Code generation passes print themselves (`-print-before`,
//! `-print-after`); the right one of many runs is counted off.

use std::collections::HashMap;

use candor_toolchain::build::quote;
use candor_toolchain::rustc::same_function;

use crate::answer::Change;
use crate::change::{Focus, Line, Listing, compare};
use crate::culprit::clang::{PassRun, limit};
use crate::probe::Bench;
use crate::{Error, files};

/// What the pass of `run` changed. `edge` holds the last good and the first bad limit when the search
/// ended at this run; without it, the run of the pass that changed the variable is looked for. `runs`
/// are all of the build.
pub fn change(
    bench: &Bench<'_>,
    runs: &[PassRun],
    run: &PassRun,
    edge: Option<(u64, u64)>,
    focus: &Focus,
) -> Result<Option<Change>, Error> {
    bench.report("what the pass changed");
    let focus = match edge {
        Some(_) => Focus {
            function: run.function().map(str::to_owned).or(focus.function.clone()),
            ..focus.clone()
        },
        None => focus.clone(),
    };
    if let Some((good, bad)) = edge
        && let Some(mut change) = compare(&ir(bench, good)?, &ir(bench, bad)?, &focus, "LLVM IR")
    {
        let mut flags = limit(bad);
        flags.extend(["-S", "-emit-llvm", "-o", "-"].map(str::to_owned));
        change.command = format!(
            "{}   (and the same with -opt-bisect-limit={good})",
            shown(bench, &flags)
        );
        return Ok(Some(change));
    }
    let Some(argument) = files::llvm_argument(&run.pass) else {
        return Ok(None);
    };
    let mut flags = edge.map_or_else(Vec::new, |(_, bad)| limit(bad));
    for option in [
        format!("-print-before={argument}"),
        format!("-print-after={argument}"),
        "-print-module-scope".into(),
    ] {
        flags.extend(["-mllvm".into(), option]);
    }
    flags.extend(["-c".into(), "-o".into(), "program.o".into()]);
    let (said, _) = bench.compile(&flags)?;
    let text = said.stderr_text();
    let same = |other: &&PassRun| other.pass == run.pass && other.number <= run.number;
    let count = runs.iter().filter(same).count();
    let wanted = match edge {
        Some(_) => count..=count,
        None => 1..=count,
    };
    let mut found: Option<Change> = None;
    for nth in wanted {
        let (before, after) = printed(&text, nth);
        let in_words = |one: &Listing| one.lines.iter().any(|line| line.text.starts_with("bb."));
        let of = match before.iter().any(in_words) {
            true => "machine code",
            false => "LLVM IR",
        };
        let change = compare(&before, &after, &focus, of);
        let about = change.as_ref().is_some_and(|change| about(change, &focus));
        if found.is_none() || about {
            found = change.or(found);
        }
        if about {
            break;
        }
    }
    if let Some(change) = &mut found {
        change.command = shown(bench, &flags);
    }
    Ok(found)
}

/// Whether a change is about the function and variable in question.
fn about(change: &Change, focus: &Focus) -> bool {
    let functions = (change.function.as_ref(), focus.function.as_ref());
    matches!(functions, (Some(changed), Some(wanted)) if same_function(changed, wanted))
        && focus.variable.as_ref().is_some_and(|name| {
            let quoted = format!("\"{name}\"");
            let changed = |line: &&String| line.starts_with(['+', '-']);
            change
                .lines
                .iter()
                .filter(changed)
                .any(|line| line.contains(&quoted))
        })
}

fn shown(bench: &Bench<'_>, flags: &[String]) -> String {
    let flags: Vec<String> = flags.iter().map(|flag| quote(flag)).collect();
    format!(
        "{} -g {} {} {}",
        bench.compiler.name,
        bench.flags.join(" "),
        flags.join(" "),
        bench.program.file_name()
    )
}

/// The program's IR with the first `number` pass runs.
fn ir(bench: &Bench<'_>, number: u64) -> Result<Vec<Listing>, Error> {
    let mut flags = limit(number);
    let how = [
        "-S",
        "-emit-llvm",
        "-fno-discard-value-names",
        "-o",
        "program.ll",
    ];
    flags.extend(how.map(str::to_owned));
    let (_, directory) = bench.compile(&flags)?;
    let text = std::fs::read(directory.path().join("program.ll")).unwrap_or_default();
    Ok(module(&String::from_utf8_lossy(&text)))
}

/// The `nth` pair of dumps (from 1) in what clang printed.
fn printed(text: &str, nth: usize) -> (Vec<Listing>, Vec<Listing>) {
    let mut before: Vec<String> = Vec::new();
    let mut after: Vec<String> = Vec::new();
    let (mut befores, mut afters) = (0, 0);
    let mut into: Option<bool> = None;
    for line in text.lines() {
        if line.contains("*** IR Dump Before ") {
            befores += 1;
            into = (befores == nth).then_some(true);
        } else if line.contains("*** IR Dump After ") {
            afters += 1;
            into = (afters == nth).then_some(false);
        } else if !line.starts_with("BISECT: ") {
            match into {
                Some(true) => before.push(line.to_owned()),
                Some(false) => after.push(line.to_owned()),
                None => {}
            }
        }
    }
    let parse = |lines: Vec<String>| {
        let text = lines.join("\n");
        match text.contains("# Machine code for function ") {
            true => machine(&text),
            false => module(&text),
        }
    };
    (parse(before), parse(after))
}

/// The functions of an LLVM module, with metadata put into words.
fn module(text: &str) -> Vec<Listing> {
    let metadata: HashMap<&str, &str> = text
        .lines()
        .filter(|line| line.starts_with('!'))
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let mut listings = Vec::new();
    let mut current: Option<Listing> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("define ") {
            let name = rest
                .split_once('@')
                .and_then(|(_, rest)| rest.split(['(', ' ']).next())
                .unwrap_or_default();
            current = Some(Listing {
                function: name.trim_matches('"').to_owned(),
                lines: Vec::new(),
            });
        } else if line == "}" {
            listings.extend(current.take());
        } else if let Some(listing) = &mut current
            && !line.is_empty()
        {
            listing.lines.push(instruction(line, &metadata));
        }
    }
    listings
}

/// One instruction: debug locations become the source line, variables their names; attributes and
/// other metadata, whose numbers change from dump to dump, go.
fn instruction(line: &str, metadata: &HashMap<&str, &str>) -> Line {
    let line = line.split("; preds = ").next().unwrap_or(line).trim_end();
    let mut text = String::new();
    let mut source = None;
    let mut rest = line;
    while let Some(at) = rest.find('!') {
        let (head, tail) = rest.split_at(at);
        let digits = tail[1..].chars().take_while(char::is_ascii_digit).count();
        if digits == 0 {
            text.push_str(head);
            text.push('!');
            rest = &tail[1..];
            continue;
        }
        let (reference, tail) = tail.split_at(1 + digits);
        rest = tail;
        let meaning = metadata.get(reference).copied().unwrap_or_default();
        let field = |name: &str| {
            let (_, value) = meaning.split_once(name)?;
            value.split([',', ')']).next()
        };
        text.push_str(head);
        if meaning.contains("DILocalVariable(") {
            text.push_str(field("name: ").unwrap_or("?"));
            continue;
        }
        if meaning.contains("DILocation(") {
            source = field("line: ")
                .and_then(|line| line.parse().ok())
                .or(source);
        }
        drop_attachment(&mut text);
    }
    text.push_str(rest);
    Line { text, source }
}

/// Removes the `, !tbaa ` or `, ` that led to a reference.
fn drop_attachment(text: &mut String) {
    let Some(at) = text.rfind(", ") else { return };
    let name = text[at + 2..].trim_end();
    let attachment = name.is_empty()
        || name == "metadata"
        || name.strip_prefix('!').is_some_and(|name| {
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
        });
    if attachment {
        text.truncate(at);
    }
}

/// The functions of machine code dumps, which carry their places themselves.
fn machine(text: &str) -> Vec<Listing> {
    let mut listings: Vec<Listing> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# Machine code for function ") {
            listings.push(Listing {
                function: rest.split(':').next().unwrap_or(rest).to_owned(),
                lines: Vec::new(),
            });
            continue;
        }
        if line.is_empty() || line.starts_with("# End machine code") {
            continue;
        }
        if let Some(listing) = listings.last_mut() {
            let (code, place) = match line.split_once(", debug-location ") {
                Some((code, place)) => (code, place),
                None => (line, ""),
            };
            let source = place
                .split_whitespace()
                .nth(1)
                .and_then(|place| place.split(':').nth(1))
                .and_then(|line| line.parse().ok());
            listing.lines.push(Line {
                text: code.trim_end().to_owned(),
                source,
            });
        }
    }
    listings
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "define dso_local i32 @main() local_unnamed_addr #0 !dbg !16 {\n\
        3:                                                ; preds = %3, %0\n  \
          %4 = phi i64 [ 0, %0 ], [ %17, %3 ]\n    \
            #dbg_value(i64 %4, !28, !DIExpression(), !31)\n  \
          %7 = load i32, ptr %6, align 8, !dbg !35, !tbaa !38\n  \
          call void @llvm.dbg.value(metadata i32 %7, metadata !28, metadata !DIExpression()), !dbg !31\n  \
          br i1 %c, label %3, label %9, !dbg !35, !llvm.loop !40\n\
        }\n\
        !28 = !DILocalVariable(name: \"i\", scope: !29, file: !1, line: 3, type: !6)\n\
        !31 = !DILocation(line: 0, scope: !29)\n\
        !35 = !DILocation(line: 7, column: 3, scope: !29)\n\
        !38 = !{!39, !39, i64 0}\n";

    #[test]
    fn ir_is_put_into_words_that_do_not_change_from_dump_to_dump() {
        let listings = module(MODULE);
        assert_eq!(listings.len(), 1);
        assert_eq!(listings[0].function, "main");
        let texts: Vec<&str> = listings[0].lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "3:",
                "  %4 = phi i64 [ 0, %0 ], [ %17, %3 ]",
                "    #dbg_value(i64 %4, \"i\", !DIExpression())",
                "  %7 = load i32, ptr %6, align 8",
                "  call void @llvm.dbg.value(metadata i32 %7, metadata \"i\", metadata !DIExpression())",
                "  br i1 %c, label %3, label %9",
            ]
        );
        assert_eq!(listings[0].lines[3].source, Some(7));
    }

    #[test]
    fn machine_code_is_read_with_its_places() {
        let text = "# Machine code for function main: IsSSA, TracksLiveness\n\nbb.0 (%ir-block.0):\n  \
            DBG_VALUE 0, $noreg, !\"i\", !DIExpression(), debug-location !31; a.c:0 line no:3\n  \
            JMP_1 %bb.2, debug-location !32; a.c:3:26\n\n# End machine code for function main.\n";
        let listings = machine(text);
        assert_eq!(listings[0].function, "main");
        assert_eq!(listings[0].lines.len(), 3);
        assert_eq!(listings[0].lines[2].text, "  JMP_1 %bb.2");
        assert_eq!(listings[0].lines[2].source, Some(3));
    }

    #[test]
    fn the_right_one_of_many_dumps_is_taken() {
        let dump = |when: &str, body: &str| {
            format!("*** IR Dump {when} LSR (loop-reduce) ***\ndefine i32 @f() {{\n  {body}\n}}\n")
        };
        let text = [
            dump("Before", "a"),
            dump("After", "b"),
            dump("Before", "c"),
            dump("After", "d"),
        ]
        .concat();
        let (before, after) = printed(&text, 2);
        assert_eq!(before[0].lines[0].text, "  c");
        assert_eq!(after[0].lines[0].text, "  d");
        assert_eq!(printed(&text, 3), (vec![], vec![]));
    }
}

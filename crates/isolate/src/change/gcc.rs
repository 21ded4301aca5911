//! GIMPLE or RTL before and after one pass, from gcc's own dumps.
//!
//! One build with all dumps of the kind: the pass's own is *after*, the nearest earlier one that has
//! the same function is *before*.

use candor_toolchain::build::quote;

use crate::Error;
use crate::answer::Change;
use crate::change::{Focus, Line, Listing, compare};
use crate::probe::{Bench, files_in};

/// What `pass` (such as `tree-ivopts`) changed.
pub fn change(bench: &Bench<'_>, pass: &str, focus: &Focus) -> Result<Option<Change>, Error> {
    let Some((kind, name)) = pass.split_once('-') else {
        return Ok(None);
    };
    let (letter, options, of) = match kind {
        "tree" => ('t', "lineno", "GIMPLE"),
        "rtl" => ('r', "slim", "RTL"),
        _ => return Ok(None), // what an interprocedural pass decides is not in its dumps as code
    };
    bench.report("what the pass changed");
    let flags = [
        format!("-fdump-{kind}-all-{options}"),
        "-S".into(),
        "-o".into(),
        "program.s".into(),
    ];
    let (_, directory) = bench.compile(&flags)?;
    let mut dumps: Vec<(u32, String, String)> = files_in(directory.path())
        .into_iter()
        .filter_map(|file| {
            let (number, pass) = dump_name(&file, letter)?;
            Some((number, pass, file))
        })
        .collect();
    dumps.sort();
    let Some(at) = dumps.iter().position(|(_, pass, _)| pass == name) else {
        return Ok(None);
    };
    let read = |file: &str| -> Vec<Listing> {
        let bytes = std::fs::read(directory.path().join(file)).unwrap_or_default();
        listings(&String::from_utf8_lossy(&bytes), letter)
    };
    let Some((_, _, file)) = dumps.get(at) else {
        return Ok(None);
    };
    let after = read(file);
    let mut before: Vec<Listing> = Vec::new();
    for (_, _, file) in dumps.iter().take(at).rev() {
        let missing = |listing: &Listing| {
            after.iter().any(|one| one.function == listing.function)
                && !before.iter().any(|one| one.function == listing.function)
        };
        let found: Vec<Listing> = read(file).into_iter().filter(missing).collect();
        before.extend(found);
        if before.len() == after.len() {
            break;
        }
    }
    if before.is_empty() {
        return Ok(None);
    }
    let mut change = compare(&before, &after, focus, of);
    if let Some(change) = &mut change {
        change.command = format!(
            "{} {} -fdump-{kind}-all {}   (compare *.{name} with the dump before it)",
            bench.compiler.name,
            bench
                .flags
                .iter()
                .map(|flag| quote(flag))
                .collect::<Vec<_>>()
                .join(" "),
            bench.program.file_name()
        );
    }
    Ok(change)
}

/// `(180, "ivopts")` of `program.c.180t.ivopts`.
fn dump_name(file: &str, letter: char) -> Option<(u32, String)> {
    let (rest, pass) = file.rsplit_once('.')?;
    let (_, number) = rest.rsplit_once('.')?;
    Some((number.strip_suffix(letter)?.parse().ok()?, pass.to_owned()))
}

/// The functions of a dump. A tree dump may print a function more than once: the last print counts.
fn listings(dump: &str, letter: char) -> Vec<Listing> {
    let mut found: Vec<Listing> = Vec::new();
    let mut inside = false;
    for line in dump.lines() {
        if let Some(rest) = line.strip_prefix(";; Function ") {
            let name = rest.split(" (").next().unwrap_or(rest).to_owned();
            found.retain(|one| one.function != name);
            found.push(Listing {
                function: name,
                lines: Vec::new(),
            });
            inside = letter == 'r';
            continue;
        }
        let Some(listing) = found.last_mut() else {
            continue;
        };
        match (letter, line) {
            ('t', "{") => {
                inside = true;
                listing.lines.clear();
            }
            ('t', "}") => inside = false,
            ('t', _) if inside && !line.is_empty() => listing.lines.push(statement(line)),
            ('r', _) if inside && is_instruction(line) => listing.lines.push(Line {
                text: line.to_owned(),
                source: None,
            }),
            _ => {}
        }
    }
    found
}

/// A statement without the places in it: `[a.c:3:50] _1 = x;` is `_1 = x;` of line 3.
fn statement(line: &str) -> Line {
    let mut text = String::new();
    let mut source = None;
    let mut rest = line;
    while let Some(at) = rest.find('[') {
        let (head, tail) = rest.split_at(at);
        let inner = tail[1..].split_once("] ");
        let place = inner.and_then(|(inner, after)| {
            let mut parts = inner.rsplitn(3, ':');
            let (column, row) = (parts.next()?, parts.next()?);
            parts.next()?;
            let _: u32 = column.parse().ok()?;
            Some((row.parse::<u32>().ok()?, after))
        });
        match place {
            Some((row, after)) => {
                text.push_str(head);
                source = source.or(Some(row));
                rest = after;
            }
            None => {
                text.push_str(head);
                text.push('[');
                rest = &tail[1..];
            }
        }
    }
    text.push_str(rest);
    Line { text, source }
}

/// `   21: r90:SI=...`
fn is_instruction(line: &str) -> bool {
    let trimmed = line.trim_start();
    let digits = trimmed.chars().take_while(char::is_ascii_digit).count();
    digits > 0 && trimmed[digits..].starts_with(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_are_recognised_by_their_names() {
        assert_eq!(
            dump_name("program.c.180t.ivopts", 't'),
            Some((180, "ivopts".into()))
        );
        assert_eq!(dump_name("program.c.180t.ivopts", 'r'), None);
        assert_eq!(dump_name("program.s", 't'), None);
    }

    #[test]
    fn tree_dumps_become_listings_with_source_lines() {
        let dump = "\n;; Function main (main, funcdef_no=0)\n\nint main ()\n{\n  int i;\n\n  \
            [a.c:3:50] # DEBUG BEGIN_STMT\n  # s_14 = PHI <[a.c:3:51] s_9(5), [a.c:3:21] 0(2)>\n  \
            [a.c:3:54] _1 = MEM[(int *)&a + ivtmp.5_4 * 4];\n}\n\n\n";
        let found = listings(dump, 't');
        assert_eq!(found[0].function, "main");
        let texts: Vec<&str> = found[0]
            .lines
            .iter()
            .map(|line| line.text.as_str())
            .collect();
        assert_eq!(
            texts,
            [
                "  int i;",
                "  # DEBUG BEGIN_STMT",
                "  # s_14 = PHI <s_9(5), 0(2)>",
                "  _1 = MEM[(int *)&a + ivtmp.5_4 * 4];"
            ]
        );
        assert_eq!(found[0].lines[3].source, Some(3));
    }

    #[test]
    fn rtl_dumps_keep_instructions_only() {
        let dump = ";; Function main (main, funcdef_no=0)\n\n5 basic blocks, 5 edges.\n\
               17: debug i => r84:DI#0\n      REG_BR_PROB 12\n";
        let found = listings(dump, 'r');
        assert_eq!(found[0].lines.len(), 1);
    }
}

//! What is particular to gdb.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use candor_dwarf::Image;
use candor_toolchain::build::quote;

use super::{Query, Subject, environment, lossy};
use crate::launch::Launch;

/// The Python script that gdb runs.
pub(super) const SESSION: &str = include_str!("gdb_session.py");

pub(super) fn arguments(script: &Path, program: &Path) -> Vec<OsString> {
    // No start-up files and no scripts of libraries: they could change what is printed, and cost time.
    let mut arguments: Vec<OsString> = ["-nx", "-batch", "-iex", "set auto-load no"]
        .map(Into::into)
        .into();
    arguments.extend(["-x".into(), script.into(), program.into()]);
    arguments
}

/// Commands before the program is started.
pub(super) fn settings(subject: &Subject) -> Vec<String> {
    vec![
        "set pagination off".into(),
        "set confirm off".into(),
        "set disable-randomization on".into(),
        format!("set cwd {}", subject.directory.display()),
        wrapper(&subject.environment),
        "handle all nostop noprint pass".into(),
        // Otherwise gdb takes all breakpoints out at each stop and puts them back.
        "set breakpoint always-inserted on".into(),
    ]
}

/// gdb adds LINES and COLUMNS and the shell PWD to the environment, which would move the stack.
fn wrapper(environment: &[String]) -> String {
    let words: Vec<_> = environment.iter().map(|entry| quote(entry)).collect();
    format!("set exec-wrapper /usr/bin/env -i {}", words.join(" "))
        .trim_end()
        .to_owned()
}

/// Arguments and redirections, for the shell that gdb starts the program with.
pub(super) fn redirections(arguments: &[String], stdin: &Path) -> String {
    let mut line = String::new();
    for argument in arguments {
        line.push_str(&quote(argument));
        line.push(' ');
    }
    line + &format!("< {} > /dev/null 2>&1", quote(&stdin.to_string_lossy()))
}

pub(super) fn commands(
    image: &Image,
    launch: &Launch,
    query: &Query,
    stdin: Option<&Path>,
) -> String {
    let arguments: Vec<_> = launch.arguments.iter().map(|word| lossy(word)).collect();
    let redirections = redirections(&arguments, stdin.unwrap_or(Path::new("/dev/null")));
    let program = launch.program.display();
    let mut text =
        format!("# gdb -nx -batch -x THIS-FILE {program}\nset pagination off\nset confirm off\n");
    let _ = writeln!(text, "{}", wrapper(&environment(launch)));
    // The address in a position-independent program is known once it is loaded.
    let (place, go) = if image.is_pie() {
        let _ = writeln!(text, "starti {redirections}");
        let place = match image.symbolise(query.pc) {
            Some((function, offset)) => format!("*(char *) &{function} + {offset}"),
            None => format!("*{:#x}", query.pc.loaded(PIE_BASE).0),
        };
        (place, "continue".to_owned())
    } else {
        (format!("*{:#x}", query.pc.0), format!("run {redirections}"))
    };
    let _ = writeln!(text, "break {place}");
    if query.visit > 1 {
        let _ = writeln!(text, "# stop at visit {} of this address", query.visit);
        let _ = writeln!(text, "ignore $bpnum {}", query.visit - 1);
    }
    let _ = writeln!(text, "{go}");
    let mut depth = 0;
    for leaf in query.leaves.iter() {
        if leaf.depth != depth {
            let _ = writeln!(text, "frame {}", leaf.depth);
            depth = leaf.depth;
        }
        let shown = match leaf.complex_part() {
            Some(("__real__", path)) => format!("$_creal({}{path})", leaf.variable),
            Some((_, path)) => format!("$_cimag({}{path})", leaf.variable),
            None => leaf.to_string(),
        };
        let _ = writeln!(text, "print {shown}");
    }
    text.push_str("kill\n");
    text
}

/// Where Linux puts a position-independent program when addresses are not randomised.
const PIE_BASE: u64 = 0x5555_5555_4000;

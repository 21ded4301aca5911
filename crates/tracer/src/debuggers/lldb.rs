//! What is particular to lldb.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use candor_toolchain::build::quote;

use super::{Query, environment, lossy};
use crate::launch::Launch;

/// The Python module that lldb imports.
pub(super) const SESSION: &str = include_str!("lldb_session.py");

pub(super) fn arguments(script: &Path) -> Vec<OsString> {
    let import = format!("command script import {}", quote(&script.to_string_lossy()));
    ["--no-lldbinit", "--batch", "-o", &import]
        .map(Into::into)
        .into()
}

pub(super) fn commands(launch: &Launch, query: &Query, stdin: Option<&Path>) -> String {
    let program = launch.program.display();
    let module = launch.program.file_name().map(lossy).unwrap_or_default();
    let mut text = format!(
        "# lldb --no-lldbinit --batch -s THIS-FILE {program}\n\
         settings set target.disable-aslr true\n\
         settings set target.inherit-env false\n"
    );
    for entry in environment(launch) {
        let _ = writeln!(text, "settings append target.env-vars {}", quote(&entry));
    }
    // With a module the address is the file's, wherever the program is loaded.
    let _ = writeln!(
        text,
        "breakpoint set --shlib {} --address {:#x}",
        quote(&module),
        query.pc.0
    );
    if query.visit > 1 {
        let _ = writeln!(text, "# stop at visit {} of this address", query.visit);
        let _ = writeln!(
            text,
            "breakpoint modify --ignore-count {} 1",
            query.visit - 1
        );
    }
    let arguments: Vec<_> = launch
        .arguments
        .iter()
        .map(|word| quote(&lossy(word)))
        .collect();
    let _ = writeln!(
        text,
        "{}",
        format!(
            "process launch --stdin {} --stdout /dev/null --stderr /dev/null -- {}",
            quote(&stdin.unwrap_or(Path::new("/dev/null")).to_string_lossy()),
            arguments.join(" ")
        )
        .trim_end()
    );
    let mut depth = 0;
    for leaf in query.leaves.iter() {
        if leaf.depth != depth {
            let _ = writeln!(text, "frame select {}", leaf.depth);
            depth = leaf.depth;
        }
        let show = if leaf.function.is_some() {
            "frame variable"
        } else {
            "target variable"
        };
        // lldb shows both parts of a complex number, and has no way to ask for one
        let path = leaf.complex_part().map_or(&*leaf.path, |(_, path)| path);
        let _ = writeln!(text, "{show} {}{path}", leaf.variable);
    }
    text.push_str("process kill\n");
    text
}

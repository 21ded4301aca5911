//! Which debuggers are installed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_toolchain::{Job, Limits, Sandbox, known};

use super::{Debugger, DebuggerKind, session_folder};
use crate::error::{Error, Result};

/// The question for the version.
const VERSION: &str = "version";

impl Debugger {
    /// All debuggers on PATH, gdb before lldb, each by its plain name first.
    pub fn discover(sandbox: &Sandbox) -> Vec<Debugger> {
        let mut found: Vec<(DebuggerKind, PathBuf)> = Vec::new();
        let path = std::env::var_os("PATH").unwrap_or_default();
        for folder in std::env::split_paths(&path) {
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            names.sort();
            found.extend(
                names
                    .into_iter()
                    .filter_map(|path| Some((kind_of(&path)?, path))),
            );
        }
        found.sort_by_key(|(kind, _)| *kind);
        let mut known = Vec::new();
        let mut debuggers = Vec::new();
        for (_, path) in found {
            let Ok(real) = path.canonicalize() else {
                continue;
            };
            if !known.contains(&real)
                && let Ok(debugger) = Debugger::at(sandbox, &path)
            {
                known.push(real);
                debuggers.push(debugger);
            }
        }
        debuggers
    }

    /// The debugger at `path`, asked for its version.
    pub fn at(sandbox: &Sandbox, path: &Path) -> Result<Debugger> {
        let refused = |met: String| Error::NotADebugger {
            path: path.to_owned(),
            met,
        };
        let (version, ending) = match known::remembered(path, VERSION) {
            Some(known) => (known, None),
            None => {
                let folder = session_folder()?;
                let job = Job::new(path, folder.path()).arg("--version");
                let limits = Limits::compiler().with_time(Duration::from_secs(20));
                let finished = sandbox
                    .run(&job, &limits)
                    .map_err(|error| refused(error.to_string()))?;
                let text = finished.stdout_text();
                let version = text.lines().next().unwrap_or_default().trim().to_owned();
                (version, Some(finished.ending))
            }
        };
        let kind = if version.starts_with("GNU gdb") {
            DebuggerKind::Gdb
        } else if version.starts_with("lldb version") || version.contains("LLDB") {
            DebuggerKind::Lldb
        } else {
            let ending = ending.map_or(String::new(), |ending| {
                format!("it ended with {ending} and ")
            });
            return Err(refused(format!("{ending}said `{version}`")));
        };
        if ending.is_some() {
            known::remember(path, VERSION, &version);
        }
        Ok(Debugger {
            kind,
            path: path.to_owned(),
            version,
        })
    }
}

/// `gdb`, `gdb-13`, `gdb-multiarch`; `lldb`, `lldb-19`. Not `gdbserver`, `gdb-add-index`, `lldb-server-19`.
fn kind_of(path: &Path) -> Option<DebuggerKind> {
    let name = path.file_name()?.to_str()?;
    let is_version = |rest: &str| {
        rest.strip_prefix('-').is_some_and(|version| {
            version.starts_with(|c: char| c.is_ascii_digit())
                && version.chars().all(|c| c.is_ascii_digit() || c == '.')
        })
    };
    for (plain, kind) in [("gdb", DebuggerKind::Gdb), ("lldb", DebuggerKind::Lldb)] {
        if let Some(rest) = name.strip_prefix(plain)
            && (rest.is_empty() || rest == "-multiarch" || is_version(rest))
        {
            return Some(kind);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debuggers_by_name() {
        let kind = |name: &str| kind_of(&Path::new("/usr/bin").join(name));
        assert_eq!(kind("gdb"), Some(DebuggerKind::Gdb));
        assert_eq!(kind("gdb-13.2"), Some(DebuggerKind::Gdb));
        assert_eq!(kind("lldb-19"), Some(DebuggerKind::Lldb));
        for other in [
            "gdbserver",
            "gdb-add-index",
            "lldb-server-19",
            "lldb-",
            "gdbtui",
            "lldb-argdumper",
        ] {
            assert_eq!(kind(other), None, "{other}");
        }
    }
}

//! A finding as files: an actionable program with everything to reproduce it without candor.

use std::path::{Path, PathBuf};

use candor_toolchain::build::quote;
use candor_toolchain::{Program, rustc};

use crate::finding::{Finding, Report};
use crate::plan::{Plan, PointChoice};
use crate::run::{Request, Settings, Toolset, check};
use crate::workshop::link_flags;
use crate::{Error, Kind};

/// Writes every finding of `report` into a folder of its own below `directory`; returns the folders.
///
/// The paper's program P<s,v> has one barrier. Where that alone shows the finding it is what is
/// written; else the program with all the barriers that were there when it was found.
///
/// `finding_json` gives the text of a folder's `finding.json`: what other commands take up from here
/// (a case of the predicate crate, which is built on this one).
pub fn save(
    tools: &Toolset<'_>,
    request: &Request<'_>,
    report: &Report,
    directory: &Path,
    finding_json: &dyn Fn(&Finding) -> String,
) -> Result<Vec<PathBuf>, Error> {
    let mut written = Vec::new();
    for (number, finding) in report.findings.iter().enumerate() {
        let name = format!(
            "{:03}-{}-{}{}-{}",
            number + 1,
            finding.kind,
            plain(&finding.compiler),
            finding.level,
            plain(&finding.variable)
        );
        let folder = directory.join(name);
        save_one(tools, request, finding, &folder, &finding_json(finding))?;
        written.push(folder);
    }
    Ok(written)
}

fn save_one(
    tools: &Toolset<'_>,
    request: &Request<'_>,
    finding: &Finding,
    folder: &Path,
    json: &str,
) -> Result<(), Error> {
    let (choice, shown) = smallest(tools, request, finding)?;
    let plan = Plan::new(tools.clang, request.program, &choice)?;
    let write = |name: &str, text: &str| -> Result<(), Error> {
        let path = folder.join(name);
        let temporary = folder.join(format!(".{name}.part"));
        std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|source| candor_toolchain::Error::file("write", &path, source).into())
    };
    std::fs::create_dir_all(folder)
        .map_err(|source| candor_toolchain::Error::file("create", folder, source))?;
    let place = Place {
        stop: shown.stop,
        variable: &shown.variable,
        expected: &shown.expected,
        frame: finding.frame,
        backtrace: finding.kind.is_about_place(),
        compiler: &finding.compiler,
        level: &finding.level,
        lldb: (finding.compiler.contains("clang") || finding.compiler.contains("rustc"))
            && !finding.confirmed_by.iter().any(|who| who == "gdb"),
    };
    let (files, commands) = files(request.program, &plan.text, &place);
    for (name, text) in &files {
        write(name, text)?;
    }
    if !request.program.stdin.is_empty() {
        let path = folder.join("stdin");
        std::fs::write(&path, &request.program.stdin)
            .map_err(|error| candor_toolchain::Error::file("write", &path, error))?;
    }
    write(
        "reproduce.sh",
        &format!(
            "#!/bin/sh\ncd \"$(dirname \"$0\")\" && {}\n",
            commands.join(" && ")
        ),
    )?;
    write("finding.json", json)?;
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("reproduce.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))
        .map_err(|source| candor_toolchain::Error::file("make executable", &script, source))?;
    Ok(())
}

/// What is to be seen, and where.
pub(crate) struct Place<'a> {
    /// The number of the barrier call, from 0: how many to ignore.
    pub stop: u64,
    /// The variable with its path.
    pub variable: &'a str,
    /// Its true value.
    pub expected: &'a str,
    /// The frame that it is in, from 0 for the function that calls the barrier.
    pub frame: u16,
    /// The backtrace is what is to be seen, and no variable.
    pub backtrace: bool,
    /// The compiler.
    pub compiler: &'a str,
    /// Level and flags.
    pub level: &'a str,
    /// lldb shows it, gdb may not.
    pub lldb: bool,
}

/// The files (name, text) and shell commands that show a finding without candor, given the program
/// with its barriers. Standard input, which need not be text, goes into a file `stdin` besides.
pub(crate) fn files(
    program: &Program,
    text: &str,
    place: &Place<'_>,
) -> (Vec<(String, String)>, Vec<String>) {
    let source = program.file_name();
    let input = if program.stdin.is_empty() {
        ""
    } else {
        " < stdin"
    };
    let quoted = |words: &[String]| -> String {
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        words.join(" ")
    };
    let arguments = quoted(&program.arguments);
    // The k-th call of the barrier is the same in every build: no address is needed.
    let Place {
        stop,
        variable,
        expected,
        frame,
        backtrace,
        compiler,
        level,
        lldb,
    } = place;
    let rust = program.is_rust();
    let (print, shown) = if rust {
        rust_expressions(variable)
    } else {
        (format!("print {variable}"), (*variable).to_owned())
    };
    let (print, shown) = if *backtrace {
        ("backtrace".to_owned(), "thread backtrace".to_owned())
    } else {
        (print, format!("frame variable {shown}"))
    };
    let up = match *backtrace {
        true => String::new(),
        false => format!("up {}\n", frame + 1),
    };
    let gdb_commands = format!(
        "set pagination off\nset breakpoint pending off\nbreak opt_me_not\nignore 1 {stop}\n\
         run {arguments}{input} > /dev/null\n{up}echo expected {variable} = {expected}\\n\n{print}\nkill\nquit\n"
    );
    let lldb_commands = format!(
        "settings set auto-confirm true\nbreakpoint set --name opt_me_not\n\
         breakpoint modify --ignore-count {stop} 1\nprocess launch{} --stdout /dev/null -- {arguments}\n\
         {up}{shown}\nquit\n",
        if input.is_empty() {
            ""
        } else {
            " --stdin stdin"
        }
    );
    let debugger = if *lldb {
        "lldb-19 --no-lldbinit --batch -s lldb.cmds program".to_owned()
    } else {
        "gdb -nx -batch -x gdb.cmds program".to_owned()
    };
    if rust {
        let level: Vec<String> = level.split_whitespace().map(str::to_owned).collect();
        let flags = quoted(&rustc::build_flags(&level, &program.flags));
        let commands = vec![
            format!(
                "{compiler} --edition=2021 -Cpanic=abort --emit=obj opt_me_not.rs -o opt_me_not.o"
            ),
            format!(
                "{compiler} {flags} -Clink-arg=opt_me_not.o {} -o program",
                quote(&source)
            ),
            debugger,
        ];
        let files = vec![
            (source, text.to_owned()),
            (
                "opt_me_not.rs".to_owned(),
                candor_source::rust::BARRIER_DEFINITION.to_owned(),
            ),
            ("gdb.cmds".to_owned(), gdb_commands),
            ("lldb.cmds".to_owned(), lldb_commands),
        ];
        return (files, commands);
    }
    let flags = quoted(&program.flags);
    let links = quoted(&link_flags(program));
    let commands = vec![
        format!(
            "{compiler} -g -w {level} {flags}{}-c {} -o program.o",
            if flags.is_empty() { "" } else { " " },
            quote(&source)
        ),
        format!("{compiler} -c opt_me_not.c -o opt_me_not.o"),
        format!("{compiler} {links} program.o opt_me_not.o -o program"),
        debugger,
    ];
    let files = vec![
        (source, text.to_owned()),
        (
            "opt_me_not.c".to_owned(),
            candor_source::instrument::BARRIER_DEFINITION.to_owned(),
        ),
        ("gdb.cmds".to_owned(), gdb_commands),
        ("lldb.cmds".to_owned(), lldb_commands),
    ];
    (files, commands)
}

/// The commands that show a leaf of a Rust program in gdb, and the expression for lldb: the whole variable, and what
/// it refers to where the leaf is behind a reference.
fn rust_expressions(variable: &str) -> (String, String) {
    let root = candor_dwarf::root_of(variable);
    let rest = variable.get(root.len()..).unwrap_or_default();
    let print = if rest.starts_with(".*") {
        format!("print {root}\nprint *{root}")
    } else {
        format!("print {root}")
    };
    (print, root.to_owned())
}

/// What a saved program shows.
struct Shown {
    /// The number of the barrier call, from 0: how many to ignore.
    stop: u64,
    variable: String,
    expected: String,
}

/// The single-barrier program if the finding survives in it, else the one it was found with.
fn smallest(
    tools: &Toolset<'_>,
    request: &Request<'_>,
    finding: &Finding,
) -> Result<(PointChoice, Shown), Error> {
    let original = Shown {
        stop: finding.stop,
        variable: finding.variable.clone(),
        expected: finding.expected.clone(),
    };
    if !matches!(
        finding.kind,
        Kind::WrongValue | Kind::WriteOnlyStatic | Kind::WrongReferent
    ) {
        return Ok((request.points.clone(), original));
    }
    let single = PointChoice::At {
        line: finding.line,
        variable: finding.variable.clone(),
    };
    let builds: Vec<_> = request
        .builds
        .iter()
        .filter(|(compiler, level)| compiler.name == finding.compiler && *level == finding.level)
        .cloned()
        .collect();
    let alone = Request {
        program: request.program,
        points: single.clone(),
        builds,
        settings: Settings {
            audit: false,
            ..request.settings.clone()
        },
        replay: request.replay,
    };
    let report = match check(tools, &alone, &|_| {}) {
        Ok(report) => report,
        Err(error) if error.is_interrupt() => return Err(error),
        // a line of an included or #line-numbered place, say: the full program still shows it
        Err(_) => return Ok((request.points.clone(), original)),
    };
    let same = report
        .findings
        .iter()
        .find(|other| other.kind == finding.kind && other.variable == finding.variable);
    Ok(match same {
        Some(other) => (
            single,
            Shown {
                stop: other.stop,
                variable: other.variable.clone(),
                expected: other.expected.clone(),
            },
        ),
        None => (request.points.clone(), original),
    })
}

/// A name that is fine in a path.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

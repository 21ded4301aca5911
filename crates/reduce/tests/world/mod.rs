//! The tools of this machine, and compilers with planted bugs.

// Each test binary includes this module and uses its own part of it.
#![allow(dead_code)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use candor_check::{Toolset, Workshop};
use candor_predicate::Case;
use candor_reduce::{Error, Reduction, Settings, reduce};
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Program, Sandbox, Scratch, discover};
use candor_tracer::Debugger;

/// Calls `use_them` with everything that is installed here.
pub fn with_tools<T>(use_them: impl FnOnce(&Toolset<'_>) -> T) -> T {
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().unwrap();
    let (compilers, _) = discover(&sandbox, &scratch).unwrap();
    let gate = Gate::find(&compilers, &sandbox, &scratch)
        .unwrap()
        .expect("clang with sanitizers is installed by scripts/install.sh");
    let workshop = Workshop::new(&sandbox, &scratch).unwrap();
    let clang = Clang::find().unwrap();
    let debuggers = Debugger::discover(&sandbox);
    use_them(&Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &compilers,
        gate,
        debuggers: &debuggers,
    })
}

/// A compiler command of our own: gcc-12 behind a script that sees the source first. `$source` is the
/// file, `"$@"` the arguments.
pub fn planted(directory: &Path, body: &str) -> PathBuf {
    let path = directory.join("planted-gcc");
    let text = format!(
        "#!/bin/bash\nsource=/dev/null\nfor word in \"$@\"; do case $word in *.c) source=$word;; esac; done\n\
         {body}\nexec gcc-12 \"$@\"\n"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The compiler behind a command.
pub fn compiler(tools: &Toolset<'_>, command: &str) -> Compiler {
    let workshop = tools.workshop;
    Compiler::probe(workshop.sandbox, workshop.scratch, command).unwrap()
}

/// A program from a text.
pub fn program(text: &str) -> Program {
    Program::from_text(Path::new("prog.c"), text.into())
}

/// Reduces with the usual settings.
pub fn reduced(
    tools: &Toolset<'_>,
    case: &Case,
    compiler: &Compiler,
    settings: &Settings,
) -> Result<Reduction, Error> {
    reduce(tools, case, compiler, settings, &|_| {})
}

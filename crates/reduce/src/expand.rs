//! Headers expanded: a reproducer needs three declarations of them, not three thousand lines.

use candor_toolchain::{Compiler, Limits, Program, Sandbox, Scratch};

use crate::Error;

/// The program after preprocessing by `compiler`, without line marks; `None` when that fails.
pub fn expand(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    program: &Program,
) -> Result<Option<String>, Error> {
    let directory = scratch.job()?;
    let name = program.file_name();
    directory.write(&name, &program.text)?;
    let job = compiler
        .job(directory.path())
        .args(["-E", "-P", "-w"])
        .args(program.flags.iter().cloned())
        .args(["-o", "expanded.i", &name]);
    let run = sandbox.run(&job, &Limits::compiler())?;
    if !run.ending.success() {
        return Ok(None);
    }
    let text = std::fs::read(directory.path().join("expanded.i")).ok();
    Ok(text.and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// Whether there is anything to expand.
pub fn has_directives(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with('#'))
}

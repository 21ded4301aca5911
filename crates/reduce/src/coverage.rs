//! Lines that never run: in generated programs that is most of them, and mostly they can go at once.

use std::collections::BTreeSet;
use std::time::Duration;

use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Build, Compiler, Family, Job, Limits, Program, Sandbox, Scratch, Stage};

use crate::Error;

/// The lines (from 1) of `program` that do not run, as gcov of some gcc of `compilers` sees it;
/// nothing when there is none: this only saves time.
pub fn idle_lines(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compilers: &[Compiler],
    program: &Program,
    time: Duration,
) -> Result<BTreeSet<usize>, Error> {
    let gcc = compilers.iter().rev().find_map(|compiler| {
        let name = compiler.name.strip_prefix("gcc")?;
        let gcov = find_on_path(format!("gcov{name}"))?;
        (compiler.family == Family::Gcc).then_some((compiler, gcov))
    });
    let Some((compiler, gcov)) = gcc else {
        return Ok(BTreeSet::new());
    };
    let directory = scratch.job()?;
    directory.write("prog.c", &program.text)?;
    let mut flags: Vec<String> = ["--coverage", "-O0", "-w"].map(String::from).to_vec();
    flags.extend(program.flags.iter().cloned());
    let build = Build {
        compiler,
        stage: Stage::Executable,
        inputs: vec!["prog.c".into()],
        flags,
        output: "prog".into(),
    };
    let built = build.run(sandbox, directory.path(), &Limits::compiler())?;
    let Some(path) = built.artefact() else {
        return Ok(BTreeSet::new());
    };
    let job = Job::new(path, directory.path())
        .args(program.arguments.iter().cloned())
        .stdin(program.stdin.clone());
    sandbox.run(&job, &Limits::program().with_time(time))?;
    let notes = directory.path().read_dir().ok().and_then(|entries| {
        entries
            .flatten()
            .map(|entry| entry.file_name())
            .find(|name| name.to_string_lossy().ends_with(".gcda"))
    });
    let Some(notes) = notes else {
        return Ok(BTreeSet::new());
    };
    let job = Job::new(gcov, directory.path()).arg("-t").arg(notes);
    let listing = sandbox.run(&job, &Limits::compiler())?;
    Ok(idle(&listing.stdout_text()))
}

/// Lines marked `#####` in gcov's listing of prog.c.
fn idle(listing: &str) -> BTreeSet<usize> {
    let mut ours = false;
    let mut found = BTreeSet::new();
    for line in listing.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(count), Some(number)) = (parts.next(), parts.next()) else {
            continue;
        };
        if let Some(source) = parts.next().and_then(|rest| rest.strip_prefix("Source:")) {
            ours = source == "prog.c";
        }
        if ours
            && count.trim() == "#####"
            && let Ok(number) = number.trim().parse()
        {
            found.insert(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_never_run_are_read_from_gcov() {
        let listing = "        -:    0:Source:prog.c\n        1:    2:int main(void) {\n    #####:    3:  f();\n        -:    0:Source:other.h\n    #####:    9:x\n";
        assert_eq!(idle(listing), BTreeSet::from([3]));
    }
}

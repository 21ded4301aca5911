//! One program with every compiler at every level: what each build does.

use std::time::Duration;

use candor_toolchain::{
    Build, Built, Compiler, Ending, Family, Job, Limits, Program, Stage, rustc,
};

use crate::Error;
use crate::bench::{Bench, Target};

/// How a program behaves: what it prints and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Behaviour {
    pub(crate) stdout: Vec<u8>,
    pub(crate) ending: Ending,
}

/// What one build came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It was built and run.
    Behaved(Behaviour),
    /// It was compiled; nobody asked to run it.
    Compiled,
    /// The compiler crashed there.
    Crashed { site: String },
    /// The compiler burnt all the CPU time it was given.
    Hung { cpu: Duration },
    /// The compiler said no, or ran into a bound that says nothing about it.
    Refused { reason: String },
}

/// One build of the matrix.
pub(crate) struct Built1<'a> {
    pub(crate) target: &'a Target<'a>,
    pub(crate) level: &'a str,
    pub(crate) seen: Seen,
}

/// How one build is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// CPU time the compiler is given.
    pub(crate) compile: Duration,
    /// Time the program is given; `None`: it is only compiled.
    pub(crate) run: Option<Duration>,
}

/// Builds `program` with `compiler` and `flags`, and runs it.
pub(crate) fn build(
    bench: &Bench<'_>,
    program: &Program,
    compiler: &Compiler,
    flags: &[&str],
    manner: Manner,
) -> Result<Seen, Error> {
    let directory = bench.scratch().job()?;
    directory.write(&program.file_name(), &program.text)?;
    let flags = flags.iter().map(|flag| (*flag).to_owned());
    let all = if compiler.family == Family::Rustc {
        rustc::build_flags(&flags.collect::<Vec<_>>(), &program.flags)
    } else {
        let mut all = vec!["-w".to_owned()];
        all.extend(flags);
        all.extend(program.flags.iter().cloned());
        all
    };
    let build = Build {
        compiler,
        stage: match manner.run {
            Some(_) => Stage::Executable,
            None => Stage::Object,
        },
        inputs: vec![program.file_name().into()],
        flags: all,
        output: "candor-program".into(),
    };
    let limits = Limits {
        cpu: manner.compile,
        wall: manner.compile * 8,
        ..Limits::compiler()
    };
    let built = build.run(bench.sandbox(), directory.path(), &limits)?;
    let artefact = match built {
        Built::Ok { artefact, .. } => artefact,
        Built::Crashed { site, .. } => return Ok(Seen::Crashed { site }),
        // A machine that is asleep is no hang: only CPU time counts.
        Built::TimedOut { cpu } if cpu + Duration::from_secs(1) >= manner.compile => {
            return Ok(Seen::Hung { cpu });
        }
        other => {
            return Ok(Seen::Refused {
                reason: other.describe(),
            });
        }
    };
    let Some(time) = manner.run else {
        return Ok(Seen::Compiled);
    };
    let job = Job::new(artefact, directory.path())
        .args(program.arguments.iter().cloned())
        .stdin(program.stdin.clone());
    let limits = Limits {
        wall: time * 4,
        cpu: time,
        ..Limits::program()
    };
    let run = bench.sandbox().run(&job, &limits)?;
    Ok(Seen::Behaved(Behaviour {
        stdout: run.stdout,
        ending: run.ending,
    }))
}

/// Whether a compiler takes programs of this language, at this level.
pub(crate) fn takes(compiler: &Compiler, program: &Program, level: &str) -> bool {
    match compiler.family {
        Family::Rustc => program.is_rust() && rustc::has_level(level),
        _ => !program.is_rust(),
    }
}

/// The flags of a level and of the target's own.
pub(crate) fn flags<'t>(target: &'t Target<'_>, level: &'t str) -> Vec<&'t str> {
    level
        .split_whitespace()
        .chain(target.linker.as_deref())
        .collect()
}

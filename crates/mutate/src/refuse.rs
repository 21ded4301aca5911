//! Programs that cannot be seeds, each with the reason in words.
//!
//! A variant is only worth something if the seed is closed and deterministic: what the profile saw must be what every
//! later run sees. Undefined behaviour is the gate's to find ([`admit`]); the rest is found on the way to the profile.

use std::path::Path;
use std::time::Duration;

use candor_source::Unit;
use candor_toolchain::{Bound, Ending, Finished, GateVerdict, Program};
use object::{Object as _, ObjectSymbol as _};

use crate::rules::Facts;
use crate::{Error, Workbench};

/// Functions that bring in something from outside, and what.
const OUTSIDE: [(&str, &[&str]); 4] = [
    (
        "reads the clock",
        &[
            "time",
            "clock",
            "gettimeofday",
            "clock_gettime",
            "timespec_get",
            "times",
            "getrusage",
            "ftime",
        ],
    ),
    (
        "starts threads or processes",
        &[
            "pthread_create",
            "thrd_create",
            "fork",
            "vfork",
            "clone",
            "system",
            "popen",
            "posix_spawn",
        ],
    ),
    (
        "asks the system for random or process numbers",
        &[
            "getrandom",
            "getentropy",
            "arc4random",
            "getpid",
            "getppid",
            "gettid",
        ],
    ),
    (
        "is interrupted by timers",
        &["alarm", "ualarm", "setitimer", "timer_create"],
    ),
];

/// Asks the sanitizers whether `program` is free of undefined behaviour on its input.
///
/// # Errors
/// [`Error::Unfit`] with the sanitizer's message.
pub fn admit(bench: &Workbench<'_>, program: &Program, time: Duration) -> Result<(), Error> {
    match bench.gate.judge(program, time)? {
        GateVerdict::Clean { .. } => Ok(()),
        GateVerdict::Undefined { sanitizer, message } => Err(Error::unfit(format!(
            "its behaviour is undefined on this input ({}: {message})",
            sanitizer.name()
        ))),
        GateVerdict::Unfit { reason } | GateVerdict::Undecided { reason } => {
            Err(Error::unfit(reason))
        }
    }
}

/// What the text alone shows.
pub(crate) fn by_text(unit: &Unit, facts: &Facts) -> Result<(), Error> {
    if !unit
        .functions()
        .iter()
        .any(|function| function.name == "main")
    {
        return Err(Error::unfit(
            "it defines no function main in this file; give a complete program",
        ));
    }
    if let Some(keyword) = facts.redefined_keyword() {
        return Err(Error::unfit(format!(
            "it defines a macro called `{keyword}`, so that inserted code would not mean what it says; \
             preprocess it first (clang -E -P)"
        )));
    }
    if unit.points().points.is_empty() {
        let skipped: usize = unit.points().skipped.values().sum();
        return Err(Error::unfit(format!(
            "it has no statement in front of which code can be put ({skipped} were passed over); where macros \
             hide the statements, preprocess it first (clang -E -P)"
        )));
    }
    Ok(())
}

/// What the functions it calls show. A program that reads the clock may print the same for a second.
pub(crate) fn by_symbols(executable: &Path) -> Result<(), Error> {
    let bytes = std::fs::read(executable)
        .map_err(|source| candor_toolchain::Error::file("read", executable, source))?;
    let Ok(file) = object::File::parse(&*bytes) else {
        return Ok(());
    };
    for symbol in file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined())
    {
        let name = symbol.name().unwrap_or_default();
        for (what, functions) in OUTSIDE {
            if functions.contains(&name) {
                return Err(Error::unfit(format!(
                    "it {what} (it calls `{name}`), so that another run need not see the same values"
                )));
            }
        }
    }
    Ok(())
}

/// What one run shows.
pub(crate) fn by_outcome(run: &Finished, time: Duration) -> Result<(), Error> {
    let stderr = run.stderr_text();
    if let Some(line) = stderr
        .lines()
        .find(|line| line.contains("MemorySanitizer: "))
    {
        let message = line.find("MemorySanitizer").and_then(|at| line.get(at..));
        return Err(Error::unfit(format!(
            "its behaviour is undefined on this input ({})",
            message.unwrap_or(line)
        )));
    }
    match run.ending {
        Ending::Exceeded(Bound::Wall | Bound::Cpu) => Err(Error::unfit(format!(
            "it does not end within {:.0} s when profiled; a longer time can be given",
            time.as_secs_f64()
        ))),
        Ending::Exceeded(bound) => Err(Error::unfit(format!("it was stopped: {bound} reached"))),
        Ending::Exited(_) | Ending::Signalled(_) => Ok(()),
    }
}

/// What two runs show together.
pub(crate) fn by_difference(
    first: &Finished,
    second: &Finished,
    other_compiler: bool,
) -> Result<(), Error> {
    if first.stdout == second.stdout && first.ending == second.ending {
        return Ok(());
    }
    let what = if first.ending == second.ending {
        "prints differently".to_owned()
    } else {
        format!("ends differently ({}, {})", first.ending, second.ending)
    };
    Err(Error::unfit(if other_compiler {
        format!(
            "it {what} when built by gcc and by clang, both without optimisation: its result depends on the order of \
             evaluation, on addresses or on the compiler"
        )
    } else {
        format!("it is not deterministic: it {what} in two runs of the same build")
    }))
}

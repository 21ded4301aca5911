//! A difference that the interpreters found, tried on the processor itself: the source as clang -O0 builds it, and the very
//! machine code, both called by gdb with the same parameters on the same memory.
//!
//! *Why gdb:* the machine code may be in an executable that has a `main` of its own. gdb starts it, stops at `main`, fills the memory,
//! calls the function and reads the memory, wherever it was loaded. An object is linked with an empty `main` first.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Job, JobDirectory, Limits};

use crate::Error;
use crate::image::Image;
use crate::ir::Module;
use crate::prove::{Prover, Task, find_clang};
use crate::term::mask;
use crate::trace::{
    Difference, Differs, HEAP, Native, address_of, argument, bases, cells, initial_bytes, results,
};
use crate::verdict::Outcome;

/// What pointer parameters may reach around [`HEAP`].
const BELOW: u64 = 0x1_0000;
const ABOVE: u64 = 0x10_0000;
/// Processor time for one call; the interpreters gave up after a few million instructions.
const LONGEST: Duration = Duration::from_secs(8);
/// Globals above this are not copied.
const LARGEST: u64 = 64 << 20;

/// A piece of memory that both programs see.
struct Piece {
    /// For people.
    name: String,
    /// Its address, for what has no name in the programs.
    address: Option<u64>,
    /// Before the call.
    bytes: Vec<u8>,
}

/// How a call ended.
enum Called {
    /// It returned this, and left this in the pieces.
    Returned(u64, Vec<Vec<u8>>),
    /// A signal.
    Trapped(String),
    /// The time limit.
    Endless,
    /// It could not be made.
    Impossible(String),
}

impl Prover<'_> {
    /// Runs both programs natively on the input of a difference. What the processor refutes is not told as a difference.
    pub(crate) fn confirm(
        &self,
        task: &Task<'_>,
        module: &Module,
        mut difference: Difference,
    ) -> Result<Outcome, Error> {
        let Some(shown) = self.natively(task, module, &difference)? else {
            return Ok(Outcome::Undecided(format!(
                "candor's interpreters say that {}, but the two programs do the same when they are run: one of candor's instructions is wrong, please report it",
                difference.what
            )));
        };
        difference.native = shown;
        Ok(Outcome::Different(difference))
    }

    /// What the processor says; nothing if both programs do the same there.
    fn natively(
        &self,
        task: &Task<'_>,
        module: &Module,
        difference: &Difference,
    ) -> Result<Option<Native>, Error> {
        let not_shown = |why: &str| Ok(Some(Native::NotShown(why.to_owned())));
        match difference.kind {
            Differs::Register => {
                return not_shown("a caller's register cannot be watched from a debugger's call");
            }
            Differs::Calls => {
                return not_shown("the functions that are called are not part of the question");
            }
            _ => {}
        }
        let Some((source, flags)) = &module.origin else {
            return not_shown("the source file is not known");
        };
        let Some(gdb) = find_on_path("gdb") else {
            return not_shown("gdb is not installed");
        };
        let job = self.scratch.job()?;
        let pieces = pieces(task, difference);
        if let Some(large) = pieces.iter().find(|p| p.bytes.len() as u64 > LARGEST) {
            return not_shown(&format!("`{}` is too large", large.name));
        }
        let has_main = module.functions.iter().any(|(name, _)| name == "main");
        let reference = match self.link(&job, source, flags, !has_main, "reference")? {
            Ok(path) => path,
            Err(why) => return not_shown(&why),
        };
        let machine = if task.image.relocatable {
            let has_main = task
                .image
                .symbols
                .get("main")
                .is_some_and(|symbol| symbol.function);
            match self.link(&job, &task.image.path, &[], !has_main, "machine")? {
                Ok(path) => path,
                Err(why) => return not_shown(&why),
            }
        } else {
            absolute(&task.image.path)?
        };
        let call = |path: &Path| {
            let program = Image::load(path)?;
            match commands(&program, task, difference, &pieces) {
                Ok(text) => self.call(&job, &gdb, path, &text, &pieces),
                Err(why) => Ok(Called::Impossible(why)),
            }
        };
        Ok(compared(task, &pieces, call(&reference)?, call(&machine)?))
    }

    /// Links a program that can be started; calls of what is not there are left open, they trap if they are reached.
    fn link(
        &self,
        job: &JobDirectory,
        input: &Path,
        flags: &[String],
        needs_main: bool,
        name: &str,
    ) -> Result<Result<PathBuf, String>, Error> {
        let (clang, _) = find_clang()?;
        let output = job.path().join(name);
        let mut compile = Job::new(&clang, job.path())
            .args([
                "-O0",
                "-w",
                "-no-pie",
                "-Wl,--unresolved-symbols=ignore-all",
            ])
            .args(flags.iter().map(String::as_str))
            .arg(absolute(input)?.as_os_str());
        if needs_main {
            let main = job.path().join("main.c");
            write(&main, b"int main(void) { return 0; }\n")?;
            compile = compile.arg(main);
        }
        compile = compile.arg("-lm").arg("-o").arg(output.as_os_str());
        let finished = self.sandbox.run(&compile, &Limits::compiler())?;
        if finished.ending.success() {
            return Ok(Ok(output));
        }
        let message = finished.stderr_text();
        let first = message
            .lines()
            .find(|line| line.contains("error") || line.contains("undefined"))
            .unwrap_or("no message");
        Ok(Err(format!("it could not be linked: {first}")))
    }

    fn call(
        &self,
        job: &JobDirectory,
        gdb: &Path,
        program: &Path,
        commands: &str,
        pieces: &[Piece],
    ) -> Result<Called, Error> {
        for (number, piece) in pieces.iter().enumerate() {
            write(&job.path().join(format!("before{number}")), &piece.bytes)?;
            let _ = std::fs::remove_file(job.path().join(format!("after{number}")));
        }
        let script = job.path().join("call.gdb");
        write(&script, commands.as_bytes())?;
        let arguments: [OsString; 7] = [
            "-nx".into(),
            "-batch".into(),
            "-iex".into(),
            "set auto-load no".into(),
            "-x".into(),
            script.into(),
            program.into(),
        ];
        let run = Job::new(gdb, job.path())
            .args(arguments)
            .env("SHELL", "/bin/sh");
        let limits = Limits {
            cpu: LONGEST,
            ..Limits::compiler()
        };
        let finished = self.sandbox.run(&run, &limits)?;
        if finished.ending.timed_out() {
            return Ok(Called::Endless);
        }
        let text = finished.stdout_text();
        let result = text
            .lines()
            .find_map(|line| line.strip_prefix(MARK))
            .and_then(|number| u64::from_str_radix(number.trim(), 16).ok());
        let Some(result) = result else {
            if !text.lines().any(|line| line.trim() == READY) {
                let message = finished.stderr_text();
                let last = message.lines().last().unwrap_or("no message").to_owned();
                return Ok(Called::Impossible(format!("gdb: {last}")));
            }
            let signal = text
                .lines()
                .rev()
                .find_map(|line| line.split_once("received signal "))
                .map_or("a signal", |(_, rest)| rest)
                .split([',', '.'])
                .next()
                .unwrap_or("a signal")
                .to_owned();
            return Ok(if signal == "SIGXCPU" || signal == "SIGKILL" {
                Called::Endless
            } else {
                Called::Trapped(signal)
            });
        };
        let mut after = Vec::new();
        for number in 0..pieces.len() {
            let path = job.path().join(format!("after{number}"));
            match std::fs::read(&path) {
                Ok(bytes) => after.push(bytes),
                Err(_) => {
                    return Ok(Called::Impossible(
                        "gdb did not write the memory".to_owned(),
                    ));
                }
            }
        }
        Ok(Called::Returned(result, after))
    }
}

/// gdb prints the result after this.
const MARK: &str = "candor-result ";
/// gdb prints this when the memory is filled.
const READY: &str = "candor-ready";

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::File {
        doing: "find",
        path: path.to_owned(),
        source,
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|source| Error::File {
        doing: "write",
        path: path.to_owned(),
        source,
    })
}

/// The globals that the source names, and what pointer parameters point to.
fn pieces(task: &Task<'_>, difference: &Difference) -> Vec<Piece> {
    let (image, input) = (task.image, &difference.input);
    let bases = bases(image);
    let mut all: Vec<Piece> = task
        .objects
        .iter()
        .filter(|object| !object.function && object.size > 0)
        .map(|object| Piece {
            name: object.name.clone(),
            address: None,
            bytes: initial_bytes(
                image,
                input,
                task.element(),
                address_of(&bases, object.place),
                object.size.min(LARGEST + 1),
            ),
        })
        .collect();
    if task.function.params.iter().any(|param| param.pointer) {
        let from = HEAP - BELOW;
        all.push(Piece {
            name: String::new(),
            address: Some(from),
            bytes: initial_bytes(image, input, task.element(), from, BELOW + ABOVE),
        });
    }
    all
}

/// What gdb does, or why it cannot. Addresses are computed from the symbol table: a name may mean something else to gdb.
fn commands(
    program: &Image,
    task: &Task<'_>,
    difference: &Difference,
    pieces: &[Piece],
) -> Result<String, String> {
    let linked = |name: &str| match program.symbols.get(name) {
        Some(symbol) => Ok(symbol.place.offset),
        None => Err(format!("{} has no `{name}`", program.path.display())),
    };
    let mut text = String::from(
        "set pagination off\nset confirm off\nset width 0\nset disable-randomization on\nbreak main\nrun < /dev/null > /dev/null 2>&1\n",
    );
    let main = linked("main")?;
    let _ = writeln!(text, "set $bias = (unsigned long) &main - {main:#x}");
    for (number, piece) in pieces.iter().enumerate() {
        let length = piece.bytes.len();
        // file names and addresses are words to gdb: no spaces in what follows
        match piece.address {
            None => {
                let address = linked(&piece.name)?;
                let _ = writeln!(text, "set $piece{number} = $bias + {address:#x}");
            }
            Some(address) => {
                let _ = writeln!(text, "set $piece{number} = {address:#x}ul");
                // private, anonymous, at this very address
                let _ = writeln!(
                    text,
                    "print ((unsigned long (*)(unsigned long, unsigned long, int, int, int, unsigned long)) &mmap)($piece{number}, {length}, 3, 0x32, -1, 0)"
                );
            }
        }
        let _ = writeln!(text, "restore before{number} binary $piece{number}");
    }
    let values: Vec<String> = task
        .function
        .params
        .iter()
        .zip(&difference.input.params)
        .map(|(param, value)| format!("{:#x}", argument(param, *value)))
        .collect();
    let types = vec!["unsigned long"; values.len()].join(", ");
    let types = if types.is_empty() { "void" } else { &types };
    let function = linked(&task.code.name)?;
    let _ = writeln!(text, "printf \"{READY}\\n\"");
    let _ = writeln!(
        text,
        "set $result = ((unsigned long (*)({types})) ($bias + {function:#x}))({})",
        values.join(", ")
    );
    for (number, piece) in pieces.iter().enumerate() {
        let length = piece.bytes.len();
        let _ = writeln!(
            text,
            "dump binary memory after{number} $piece{number} $piece{number}+{length}"
        );
    }
    let _ = writeln!(text, "printf \"{MARK}%lx\\n\", $result\nkill");
    Ok(text)
}

/// The first difference; nothing if there is none, although there had to be one.
fn compared(task: &Task<'_>, pieces: &[Piece], expected: Called, met: Called) -> Option<Native> {
    let (result, memory) = match expected {
        Called::Returned(result, memory) => (result, memory),
        Called::Trapped(signal) => {
            return Some(Native::NotShown(format!(
                "the source itself ends by {signal} when it is run, perhaps for want of a function that it calls"
            )));
        }
        Called::Endless => {
            return Some(Native::NotShown(
                "the source itself runs too long".to_owned(),
            ));
        }
        Called::Impossible(why) => return Some(Native::NotShown(why)),
    };
    let (other_result, other_memory) = match met {
        Called::Returned(result, memory) => (result, memory),
        Called::Trapped(signal) => {
            return Some(Native::Confirmed(format!(
                "the source returns, the machine code ends by {signal}"
            )));
        }
        Called::Endless => {
            return Some(Native::Confirmed(format!(
                "the source returns, the machine code does not within {} s of processor time",
                LONGEST.as_secs()
            )));
        }
        Called::Impossible(why) => return Some(Native::NotShown(why)),
    };
    if let Some(width) = task.function.result {
        let (ours, theirs) = (result & mask(width), other_result & mask(width));
        if ours != theirs {
            return Some(Native::Confirmed(results(ours, theirs)));
        }
    }
    let element = usize::from(task.element());
    for ((piece, ours), theirs) in pieces.iter().zip(&memory).zip(&other_memory) {
        let Some(at) = ours.iter().zip(theirs).position(|(a, b)| a != b) else {
            continue;
        };
        let start = at - at % element;
        let number = |bytes: &[u8]| {
            bytes[start..bytes.len().min(start + element)]
                .iter()
                .rev()
                .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let place = if piece.name.is_empty() {
            format!("{:#x}", HEAP - BELOW + start as u64)
        } else {
            format!("`{}` + {start}", piece.name)
        };
        return Some(Native::Confirmed(cells(
            &place,
            number(ours),
            number(theirs),
        )));
    }
    if task.calls.is_empty() {
        return None;
    }
    Some(Native::NotShown(
        "what the called functions answer was made up; with the real ones the programs do the same on this input".to_owned(),
    ))
}

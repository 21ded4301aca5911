//! Building instrumented programs: compile, link with the prebuilt barrier, keep the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use candor_source::instrument::BARRIER_DEFINITION;
use candor_toolchain::{
    Build, Built, Compiler, Family, JobDirectory, Limits, Program, Sandbox, Scratch, Stage, rustc,
};

use crate::Error;

/// Where programs are built and run.
#[derive(Debug)]
pub struct Workshop<'a> {
    /// Runs everything.
    pub sandbox: &'a Sandbox,
    /// Holds everything.
    pub scratch: &'a Scratch,
    /// The barrier's object, per compiler.
    barriers: Mutex<BTreeMap<String, PathBuf>>,
    objects: JobDirectory,
}

/// A built program. Its directory goes with it.
#[derive(Debug)]
pub struct Executable {
    /// The program file.
    pub path: PathBuf,
    /// The directory it was built in and may write to.
    pub directory: JobDirectory,
}

/// A compiled program that is not linked yet. Its directory goes with it.
#[derive(Debug)]
pub struct Object {
    directory: JobDirectory,
    /// CPU time the compiler took.
    pub cpu: Duration,
}

impl Object {
    /// What the file holds.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let linked = self.directory.path().join(PROGRAM);
        let path = match linked.exists() {
            true => linked,
            false => self.directory.path().join(OBJECT),
        };
        std::fs::read(&path)
            .map_err(|source| candor_toolchain::Error::file("read", &path, source).into())
    }
}

/// The name of every object file.
const OBJECT: &str = "program.o";

/// The name of every executable.
const PROGRAM: &str = "program";

/// Built, or why not.
pub type BuildResult = Result<Executable, String>;

impl<'a> Workshop<'a> {
    /// An empty workshop.
    pub fn new(sandbox: &'a Sandbox, scratch: &'a Scratch) -> Result<Self, Error> {
        Ok(Workshop {
            sandbox,
            scratch,
            barriers: Mutex::default(),
            objects: scratch.job()?,
        })
    }

    /// Compiles `text` (as the file `program` is called) with `flags` and links it with the barrier.
    pub fn build(
        &self,
        compiler: &Compiler,
        program: &Program,
        text: &str,
        flags: &[String],
    ) -> Result<BuildResult, Error> {
        match self.compile(compiler, program, text, flags, &Limits::compiler())? {
            Ok(object) => self.link(compiler, program, object),
            Err(built) => Ok(Err(built.describe())),
        }
    }

    /// The first half of [`Self::build`]: the object file, or how the compiler ended.
    pub fn compile(
        &self,
        compiler: &Compiler,
        program: &Program,
        text: &str,
        flags: &[String],
        limits: &Limits,
    ) -> Result<Result<Object, Built>, Error> {
        let directory = self.scratch.job()?;
        let source = directory.write(&program.file_name(), text)?;
        if compiler.family == Family::Rustc {
            // rustc links by itself: it alone knows its libraries
            let mut all = rustc::build_flags(flags, &program.flags);
            // where nothing calls the barrier, it stays all the same: nothing is reached then, which is no error
            all.push("-Clink-arg=-Wl,--undefined=opt_me_not".to_owned());
            let build = Build {
                compiler,
                stage: Stage::Executable,
                inputs: vec![file_name(&source), self.barrier(compiler)?],
                flags: all,
                output: PROGRAM.into(),
            };
            return Ok(match build.run(self.sandbox, directory.path(), limits)? {
                Built::Ok { cpu, .. } => Ok(Object { directory, cpu }),
                other => Err(other),
            });
        }
        let mut all = vec!["-g".to_owned(), "-w".to_owned()];
        all.extend(flags.iter().cloned());
        all.extend(program.flags.iter().cloned());
        let object = Build {
            compiler,
            stage: Stage::Object,
            // relative: debug information should not carry scratch paths of varying length
            inputs: vec![file_name(&source)],
            flags: all,
            output: OBJECT.into(),
        };
        Ok(match object.run(self.sandbox, directory.path(), limits)? {
            Built::Ok { cpu, .. } => Ok(Object { directory, cpu }),
            other => Err(other),
        })
    }

    /// The second half of [`Self::build`].
    pub fn link(
        &self,
        compiler: &Compiler,
        program: &Program,
        object: Object,
    ) -> Result<BuildResult, Error> {
        if compiler.family == Family::Rustc {
            return Ok(Ok(Executable {
                path: object.directory.path().join(PROGRAM),
                directory: object.directory,
            }));
        }
        let link = Build {
            compiler,
            stage: Stage::Executable,
            inputs: vec![OBJECT.into(), self.barrier(compiler)?],
            flags: link_flags(program),
            output: PROGRAM.into(),
        };
        let directory = object.directory;
        let linked = link.run(self.sandbox, directory.path(), &Limits::compiler())?;
        Ok(match linked.artefact() {
            Some(path) => Ok(Executable {
                path: path.to_owned(),
                directory,
            }),
            None => Err(linked.describe()),
        })
    }

    /// The barrier's object for `compiler`, built once.
    fn barrier(&self, compiler: &Compiler) -> Result<PathBuf, Error> {
        let mut known = self
            .barriers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(path) = known.get(&compiler.name) {
            return Ok(path.clone());
        }
        let text = match compiler.family {
            Family::Rustc => candor_source::rust::BARRIER_DEFINITION,
            _ => BARRIER_DEFINITION,
        };
        let path = self.support_object(compiler, "barrier", text, known.len())?;
        known.insert(compiler.name.clone(), path.clone());
        Ok(path)
    }

    /// Builds one of candor's own run-time parts.
    pub fn support_object(
        &self,
        compiler: &Compiler,
        what: &'static str,
        text: &str,
        number: usize,
    ) -> Result<PathBuf, Error> {
        let (ending, flags): (&str, &[&str]) = match compiler.family {
            Family::Rustc => ("rs", &["--edition=2021", "-Cpanic=abort", "-Copt-level=0"]),
            _ => ("c", &["-O0", "-w"]),
        };
        let name = format!("{what}{number}.{ending}");
        let source = self.objects.write(&name, text)?;
        let build = Build {
            compiler,
            stage: Stage::Object,
            inputs: vec![file_name(&source)],
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            output: format!("{what}{number}.o"),
        };
        let built = build.run(self.sandbox, self.objects.path(), &Limits::compiler())?;
        match built.artefact() {
            Some(path) => Ok(path.to_owned()),
            None => Err(candor_toolchain::Error::Support {
                compiler: compiler.name.clone(),
                what,
                reason: built.describe(),
            }
            .into()),
        }
    }
}

/// Fixed addresses, and the libraries that the user's flags name.
pub fn link_flags(program: &Program) -> Vec<String> {
    let mut flags = vec!["-no-pie".to_owned()];
    let for_linker = |flag: &&String| {
        ["-l", "-L", "-pthread", "-Wl,", "-m"]
            .iter()
            .any(|prefix| flag.starts_with(prefix))
    };
    flags.extend(program.flags.iter().filter(for_linker).cloned());
    flags
}

fn file_name(path: &Path) -> PathBuf {
    path.file_name().map(PathBuf::from).unwrap_or_default()
}

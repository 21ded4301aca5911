//! The tools of a mutation, found once: compilers for the profile, the probe run-time built for each, the gate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_source::Clang;
use candor_toolchain::{
    Build, Built, Compiler, Family, Finished, Gate, Job, JobDirectory, Limits, Program, Sandbox,
    Scratch, Stage,
};

use crate::Error;
use crate::link::{Linker, concern_compiling_only};
use crate::probe::RUNTIME;

/// The name of what is built.
const PROGRAM: &str = "candor-program";

/// A compiler with what a probe build needs.
#[derive(Debug)]
pub(crate) struct Prober<'a> {
    pub compiler: &'a Compiler,
    pub flags: Vec<String>,
    runtime: PathBuf,
    /// Flags that only matter to linking by the compiler's driver.
    link_flags: Vec<String>,
    /// Links without the driver, where that works.
    linker: Option<Linker>,
}

/// Compilers, sandbox and libclang, ready for any number of programs and threads.
pub struct Workbench<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) scratch: &'a Scratch,
    pub(crate) clang: &'a Clang,
    pub(crate) gate: Gate<'a>,
    pub(crate) gcc: Prober<'a>,
    pub(crate) msan: Prober<'a>,
    /// Builds 25 times faster than gcc: enough to see which points are live.
    pub(crate) tcc: Option<Prober<'a>>,
    _objects: JobDirectory,
}

/// A build of a program, in a directory of its own.
pub(crate) struct Executable {
    pub path: PathBuf,
    pub directory: JobDirectory,
}

impl<'a> Workbench<'a> {
    /// Picks the newest gcc, the newest clang with working sanitizers, and tcc if there is one.
    ///
    /// # Errors
    /// [`Error::Missing`] without a gcc or a clang with MSan.
    pub fn new(
        sandbox: &'a Sandbox,
        scratch: &'a Scratch,
        clang: &'a Clang,
        compilers: &'a [Compiler],
    ) -> Result<Self, Error> {
        let newest = |family: Family| compilers.iter().rev().find(|c| c.family == family);
        let gcc = newest(Family::Gcc).ok_or(Error::Missing {
            what: "gcc",
            advice: "one of the two profile builds is made with it; install gcc",
        })?;
        let gate = Gate::find(compilers, sandbox, scratch)?.ok_or(Error::Missing {
            what: "a clang with working sanitizers",
            advice: "MSan tells which values are initialised; install clang-19 and libclang-rt-19-dev",
        })?;
        let objects = scratch.job()?;
        let prober = |compiler: &'a Compiler, wanted: &[&str], name: &str| -> Result<_, Error> {
            let mut flags = vec!["-w".to_owned()];
            for flag in wanted {
                if compiler.family == Family::Tcc || compiler.supports(sandbox, scratch, flag)? {
                    flags.push((*flag).to_owned());
                }
            }
            let runtime = runtime(sandbox, &objects, compiler, &flags, name)?;
            let (mut link_flags, mut linker) = (Vec::new(), None);
            if compiler.family != Family::Tcc {
                link_flags = fast_linker(sandbox, &objects, compiler, &flags)?;
            }
            if compiler.family == Family::Clang {
                let all: Vec<String> = flags.iter().chain(&link_flags).cloned().collect();
                linker = Linker::learn(sandbox, &objects, compiler, &all)?;
            }
            Ok(Prober {
                compiler,
                flags,
                runtime,
                link_flags,
                linker,
            })
        };
        let gcc = prober(
            gcc,
            &[
                "-O0",
                "-ftrivial-auto-var-init=zero",
                "-fno-asynchronous-unwind-tables",
            ],
            "gcc",
        )?;
        let msan = prober(
            gate.compiler(),
            &[
                "-O0",
                "-fsanitize=memory",
                "-fno-sanitize-memory-param-retval",
                // Whether addresses are initialised is the gate's question; not asking it here saves a sixth.
                "-mllvm=-msan-check-access-address=0",
                "-fno-asynchronous-unwind-tables",
            ],
            "msan",
        )?;
        // A tcc that cannot build the run-time is as good as none.
        let tcc = newest(Family::Tcc).and_then(|tcc| prober(tcc, &[], "tcc").ok());
        Ok(Self {
            sandbox,
            scratch,
            clang,
            gate,
            gcc,
            msan,
            tcc,
            _objects: objects,
        })
    }

    /// The compiler of the first profile build.
    #[must_use]
    pub fn gcc(&self) -> &'a Compiler {
        self.gcc.compiler
    }

    /// The compiler of the second profile build and of the sanitizers.
    #[must_use]
    pub fn clang(&self) -> &'a Compiler {
        self.msan.compiler
    }

    /// Builds `text` with the probe run-time.
    pub(crate) fn build_probed(
        &self,
        prober: &Prober<'_>,
        program: &Program,
        text: &str,
    ) -> Result<Result<Executable, String>, Error> {
        if let Some(linker) = &prober.linker
            && concern_compiling_only(&program.flags)
        {
            let directory = self.scratch.job()?;
            let build = self.call(prober.compiler, program, text, &prober.flags, &directory)?;
            let build = Build {
                stage: Stage::Object,
                output: "candor-program.o".into(),
                ..build
            };
            let built = build.run(self.sandbox, directory.path(), &Limits::compiler())?;
            let Some(object) = built.artefact() else {
                return Ok(Err(built.describe()));
            };
            let objects = [object.to_owned(), prober.runtime.clone()];
            let linked = linker.link(self.sandbox, directory.path(), &objects, PROGRAM)?;
            if let Some(path) = linked {
                return Ok(Ok(Executable { path, directory }));
            }
        }
        let flags: Vec<String> = prober
            .flags
            .iter()
            .chain(&prober.link_flags)
            .cloned()
            .collect();
        let inputs = vec![prober.runtime.clone()];
        self.build(prober.compiler, program, text, &flags, inputs)
    }

    /// Builds `text` in the place of `program`'s.
    pub(crate) fn build(
        &self,
        compiler: &Compiler,
        program: &Program,
        text: &str,
        flags: &[String],
        inputs: Vec<PathBuf>,
    ) -> Result<Result<Executable, String>, Error> {
        let directory = self.scratch.job()?;
        let mut build = self.call(compiler, program, text, flags, &directory)?;
        build.inputs.extend(inputs);
        // tcc wants libraries behind the objects that need them; the others take them anywhere.
        build.inputs.push("-lm".into());
        let built = build.run(self.sandbox, directory.path(), &Limits::compiler())?;
        Ok(match built {
            Built::Ok { artefact, .. } => Ok(Executable {
                path: artefact,
                directory,
            }),
            other => Err(other.describe()),
        })
    }

    /// The compiler call for `text` in the place of `program`'s.
    fn call<'c>(
        &self,
        compiler: &'c Compiler,
        program: &Program,
        text: &str,
        flags: &[String],
        directory: &JobDirectory,
    ) -> Result<Build<'c>, Error> {
        let name = program.file_name();
        directory.write(&name, text)?;
        // Headers beside the program are found although it is built elsewhere.
        let beside = program
            .path
            .parent()
            .and_then(|folder| std::path::absolute(folder).ok())
            .map(|folder| format!("-I{}", folder.display()));
        let flags = flags
            .iter()
            .chain(&program.flags)
            .cloned()
            .chain(beside)
            .collect();
        Ok(Build {
            compiler,
            stage: Stage::Executable,
            inputs: vec![name.into()],
            flags,
            output: PROGRAM.into(),
        })
    }

    /// Runs a build on the program's input.
    pub(crate) fn run(
        &self,
        executable: &Executable,
        program: &Program,
        time: Duration,
        is_sanitized: bool,
        profile: Option<&Path>,
    ) -> Result<Finished, Error> {
        let mut limits = Limits::program().with_time(time);
        if is_sanitized {
            limits.memory = None;
        }
        let mut job = Job::new(&executable.path, executable.directory.path())
            .args(program.arguments.iter().cloned())
            .stdin(program.stdin.clone())
            .env(
                "MSAN_OPTIONS",
                "exitcode=93:print_stacktrace=0:hard_rss_limit_mb=2048",
            )
            .env("MSAN_SYMBOLIZER_PATH", "");
        if let Some(profile) = profile {
            job = job.env("CANDOR_PROFILE", profile);
        }
        Ok(self.sandbox.run(&job, &limits)?)
    }
}

fn runtime(
    sandbox: &Sandbox,
    objects: &JobDirectory,
    compiler: &Compiler,
    flags: &[String],
    name: &str,
) -> Result<PathBuf, Error> {
    objects.write("runtime.c", RUNTIME)?;
    let mut flags = flags.to_vec();
    if flags.iter().any(|flag| flag == "-fsanitize=memory") {
        flags.push("-DCANDOR_MSAN".into());
    }
    let build = Build {
        compiler,
        stage: Stage::Object,
        inputs: vec!["runtime.c".into()],
        flags,
        output: format!("{name}.o"),
    };
    let built = build.run(sandbox, objects.path(), &Limits::compiler())?;
    match built.artefact() {
        Some(path) => Ok(path.to_owned()),
        None => Err(candor_toolchain::Error::Support {
            compiler: compiler.name.clone(),
            what: "probe run-time",
            reason: built.describe(),
        }
        .into()),
    }
}

/// A linker that takes less than the default one: MSan's run-time is most of what is linked. By processor time, so
/// that several threads do not count as a gain (mold takes the least time and the most work).
fn fast_linker(
    sandbox: &Sandbox,
    objects: &JobDirectory,
    compiler: &Compiler,
    flags: &[String],
) -> Result<Vec<String>, Error> {
    objects.write("link.c", "int main(void) { return 0; }\n")?;
    let candidates: [&[&str]; 2] = [&["-fuse-ld=lld", "-Wl,--threads=1"], &["-fuse-ld=gold"]];
    for (number, linker) in candidates.iter().enumerate() {
        let linker: Vec<String> = linker.iter().map(|flag| (*flag).to_owned()).collect();
        let build = Build {
            compiler,
            stage: Stage::Executable,
            inputs: vec!["link.c".into()],
            flags: flags.iter().chain(&linker).cloned().collect(),
            output: format!("link-{number}"),
        };
        let built = build.run(sandbox, objects.path(), &Limits::compiler())?;
        if let Some(program) = built.artefact() {
            let mut limits = Limits::program();
            limits.memory = None;
            let run = sandbox.run(&Job::new(program, objects.path()), &limits)?;
            if run.ending.success() {
                return Ok(linker);
            }
        }
    }
    Ok(Vec::new())
}

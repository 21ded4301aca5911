//! Linking without the compiler's driver. A probe build with MSan spends as much on starting clang to start the linker
//! as on linking; so the driver is asked once what it would run (`-###`), and that is run from then on.

use std::path::{Path, PathBuf};

use candor_toolchain::{Build, Compiler, Job, JobDirectory, Limits, Sandbox, Stage};

use crate::Error;

/// Names in the question that stand for what changes from link to link.
const OBJECT: &str = "candor-link-input.o";
const OUTPUT: &str = "candor-link-output";

/// The command that a driver would link with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Linker {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Linker {
    /// Asks `compiler` and tries the answer on a small program; `None` if the answer is not understood or does not work.
    pub(crate) fn learn(
        sandbox: &Sandbox,
        objects: &JobDirectory,
        compiler: &Compiler,
        flags: &[String],
    ) -> Result<Option<Linker>, Error> {
        // The driver looks whether its inputs are there, not what is in them.
        objects.write(OBJECT, "")?;
        let question = compiler
            .job(objects.path())
            .args(flags.iter().cloned())
            .args(["-###", "-o", OUTPUT, OBJECT, "-lm"]);
        let answer = sandbox.run(&question, &Limits::compiler())?;
        let Some(linker) = Linker::from_answer(&answer.stderr_text()) else {
            return Ok(None);
        };
        objects.write("link.c", "int main(void) { return 0; }\n")?;
        let build = Build {
            compiler,
            stage: Stage::Object,
            inputs: vec!["link.c".into()],
            flags: flags.to_vec(),
            output: "link.o".into(),
        };
        build.run(sandbox, objects.path(), &Limits::compiler())?;
        let linked = linker.link(sandbox, objects.path(), &["link.o".into()], "linked")?;
        let Some(program) = linked else {
            return Ok(None);
        };
        let mut limits = Limits::program();
        limits.memory = None;
        let run = sandbox.run(&Job::new(program, objects.path()), &limits)?;
        Ok(run.ending.success().then_some(linker))
    }

    /// The last command of an answer: a line of words, each in double quotes with backslashes before what needs them.
    fn from_answer(answer: &str) -> Option<Linker> {
        let line = answer.lines().rev().find(|line| line.starts_with(" \""))?;
        let mut words = Vec::new();
        let mut rest = line.chars();
        while rest.find(|c| *c == '"').is_some() {
            let mut word = String::new();
            loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => word.push(rest.next()?),
                    plain => word.push(plain),
                }
            }
            words.push(word);
        }
        let mut words = words.into_iter();
        let program = PathBuf::from(words.next()?);
        let arguments: Vec<String> = words.collect();
        let once = |name: &str| arguments.iter().filter(|word| *word == name).count() == 1;
        (program.is_absolute() && once(OBJECT) && once(OUTPUT))
            .then_some(Linker { program, arguments })
    }

    /// Links objects in a directory; `None` if that fails, whatever the reason: the driver can say it better.
    pub(crate) fn link(
        &self,
        sandbox: &Sandbox,
        directory: &Path,
        objects: &[PathBuf],
        output: &str,
    ) -> Result<Option<PathBuf>, Error> {
        let mut job = Job::new(&self.program, directory);
        for argument in &self.arguments {
            job = match argument.as_str() {
                OBJECT => job.args(objects.iter().cloned()),
                OUTPUT => job.arg(output),
                other => job.arg(other),
            };
        }
        let run = sandbox.run(&job, &Limits::compiler())?;
        let path = directory.join(output);
        Ok((run.ending.success() && path.exists()).then_some(path))
    }
}

/// Whether flags of a program matter to its compilation only.
pub(crate) fn concern_compiling_only(flags: &[String]) -> bool {
    let only = ["-D", "-U", "-I", "-std=", "-w"];
    flags
        .iter()
        .all(|flag| only.iter().any(|start| flag.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linkers_command_is_taken_from_the_drivers_answer() {
        let answer = "clang version 19\n (in-process)\n \"/usr/bin/ld.lld\" \"-o\" \"candor-link-output\" \
                      \"/a \\\"b\\\\c.o\" \"candor-link-input.o\" \"-lm\"\n";
        let linker = Linker::from_answer(answer).unwrap();
        assert_eq!(linker.program, Path::new("/usr/bin/ld.lld"));
        assert_eq!(
            linker.arguments,
            ["-o", OUTPUT, "/a \"b\\c.o", OBJECT, "-lm"]
        );
    }

    #[test]
    fn an_answer_that_is_not_understood_is_none() {
        for answer in [
            "",
            "clang: error: no such file",
            " \"ld\" \"-o\" \"candor-link-output\" \"candor-link-input.o\"",
            " \"/usr/bin/ld\" \"-o\" \"candor-link-output\"",
            " \"/usr/bin/ld\" \"-o\" \"candor-link-output\" \"candor-link-input.o",
        ] {
            assert_eq!(Linker::from_answer(answer), None, "{answer}");
        }
    }

    #[test]
    fn flags_that_reach_the_linker_keep_the_driver() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        assert!(concern_compiling_only(&words(
            "-DN=3 -I/usr/include -std=c99"
        )));
        assert!(!concern_compiling_only(&words("-DN=3 -lfoo")));
        assert!(!concern_compiling_only(&words("-pthread")));
        assert!(!concern_compiling_only(&words("-Wl,-s")));
    }
}

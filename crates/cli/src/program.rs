//! The program a command works on, as it is given on every command line: file, input, flags.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use candor_toolchain::Program;
use candor_toolchain::build::quote;

/// What belongs to a program beside its file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Surroundings {
    /// An argument for the program; repeat for more
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub arguments: Vec<String>,

    /// The program's standard input
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,

    /// Flags for every compiler
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<String>,
}

impl Surroundings {
    /// The program of `file` with these.
    pub fn load(&self, file: &Path) -> anyhow::Result<Program> {
        let mut program = Program::load(file)?;
        program.flags.extend(absolute_flags(&self.flags)?);
        program.arguments.clone_from(&self.arguments);
        program.stdin = self.input()?;
        Ok(program)
    }

    /// The bytes of the standard input.
    pub fn input(&self) -> anyhow::Result<Vec<u8>> {
        match &self.stdin {
            Some(input) => std::fs::read(input)
                .with_context(|| format!("cannot read standard input from {}", input.display())),
            None => Ok(Vec::new()),
        }
    }

    /// The same again as words of a command line, `--` and the flags last.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for argument in &self.arguments {
            words.extend(["--arg".into(), quote(argument)]);
        }
        if let Some(input) = &self.stdin {
            words.extend(["--stdin".into(), quote(&input.display().to_string())]);
        }
        if !self.flags.is_empty() {
            words.push("--".into());
            words.extend(self.flags.iter().map(|flag| quote(flag)));
        }
        words
    }
}

/// Compilers run in a scratch directory, so relative directories in flags are made absolute.
pub fn absolute_flags(flags: &[String]) -> anyhow::Result<Vec<String>> {
    let here = std::env::current_dir().context("cannot tell the working directory")?;
    let mut result = Vec::new();
    let mut path_next = false;
    for flag in flags {
        if path_next {
            result.push(here.join(flag).display().to_string());
            path_next = false;
            continue;
        }
        let attached = ["-I", "-L"]
            .iter()
            .find_map(|prefix| Some((*prefix, flag.strip_prefix(prefix)?)))
            .filter(|(_, path)| !path.is_empty());
        match attached {
            Some((prefix, path)) => result.push(format!("{prefix}{}", here.join(path).display())),
            None => {
                path_next = ["-I", "-L", "-isystem", "-iquote", "-include", "-idirafter"]
                    .contains(&flag.as_str());
                result.push(flag.clone());
            }
        }
    }
    Ok(result)
}

//! A compiler that someone has built with `--coverage` already: nothing to build, only to describe.
//!
//! Its objects' notes (`*.gcno`) must still be where they were built. Each compilation then costs a
//! run of gcov over all of them: seconds for gcc, little for small compilers.

use candor_toolchain::{Compiler, Sandbox, Scratch};

use super::{Plan, Recipe, Request, need};
use crate::map::{Root, Roots};
use crate::{Error, Kind};

pub(super) fn plan(request: &Request) -> Result<Plan, Error> {
    let source = &request.source;
    if !source.is_dir() {
        return Err(Error::Source {
            recipe: "the compiler built with --coverage".into(),
            directory: source.clone(),
            expected: "the directory itself".into(),
        });
    }
    need("a gcov compiler", &[("gcov", "gcc")], &[])?;
    let command = request.command.clone().unwrap_or_default();
    let sandbox = Sandbox::detect();
    let compiler = Compiler::probe(&sandbox, &Scratch::new()?, &command)?;
    Ok(Plan {
        what: format!(
            "{} {} (built with --coverage)",
            compiler.family, compiler.version
        ),
        steps: Vec::new(),
        minutes: 0,
        megabytes: 1,
        done: 0,
        tools: Vec::new(),
        recipe: Recipe::Gcov,
        source: source.clone(),
        output: request.output.clone(),
        version: compiler.version.to_string(),
        roots: Roots(vec![Root {
            directory: source.clone(),
            name: String::new(),
        }]),
        program: None,
        kind: Kind::Gcov {
            command: absolute(&command),
            gcov: "gcov".into(),
        },
        family: compiler.family.to_string(),
        suite: request.suite.clone(),
    })
}

/// The command with its first word as an absolute path: it is called from elsewhere.
fn absolute(command: &str) -> String {
    let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if let Some(first) = words.first_mut()
        && first.contains('/')
        && let Ok(path) = std::path::absolute(&*first)
    {
        *first = path.display().to_string();
    }
    words.join(" ")
}

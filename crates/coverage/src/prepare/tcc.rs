//! Tiny C: built outside its source tree in seconds, whole.
//!
//! Everything tcc needs to compile and link (its own header files, `libtcc1.a`) is put beside it, so
//! that `DIRECTORY/tcc -BDIRECTORY/` is a complete compiler: the bug may be in this very build.

use super::{Plan, Recipe, Request, Step, Tool, need};
use crate::files::read_text;
use crate::map::{Root, Roots};
use crate::{Error, Kind};

pub(super) fn plan(request: &Request) -> Result<Plan, Error> {
    let source = &request.source;
    for expected in ["VERSION", "configure", "tccgen.c"] {
        if !source.join(expected).exists() {
            return Err(Error::Source {
                recipe: "tcc".into(),
                directory: source.clone(),
                expected: expected.into(),
            });
        }
    }
    let version = read_text(&source.join("VERSION"))?.trim().to_owned();
    need(
        "tcc",
        &[("gcc", "gcc"), ("make", "make")],
        &[("stdio.h", "libc6-dev")],
    )?;
    let output = &request.output;
    let build = output.join("build");
    let tools = output.join("tools");
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let flags = "-O1 -g1 -w -fno-strict-aliasing -fno-PIE -fsanitize-coverage=trace-pc";
    let suite = request
        .suite
        .clone()
        .unwrap_or_else(|| source.join("tests/tests2"));
    Ok(Plan {
        what: format!("tcc {version}"),
        steps: vec![
            Step {
                name: "runtime",
                words: "compiling the run-time".into(),
                program: "gcc".into(),
                arguments: words("-O2 -fno-PIE -Wall -Wextra -c trace_pc.c"),
                directory: tools.clone(),
            },
            Step {
                name: "configure",
                words: "configuring tcc".into(),
                program: source.join("configure"),
                arguments: vec![
                    "--cc=gcc".into(),
                    "--debug".into(), // or it is stripped
                    format!("--extra-cflags={flags}"),
                    format!("--extra-ldflags=-no-pie {}/trace_pc.o", tools.display()),
                    "--triplet=x86_64-linux-gnu".into(),
                ],
                directory: build.clone(),
            },
            Step {
                name: "tcc",
                words: "building tcc".into(),
                program: "make".into(),
                arguments: vec![format!("-j{}", request.jobs.max(1)), "tcc".into()],
                directory: build.clone(),
            },
            Step {
                name: "libtcc1",
                words: "building tcc's library".into(),
                program: "make".into(),
                arguments: vec!["libtcc1.a".into()],
                directory: build.clone(),
            },
            Step {
                name: "headers",
                words: "copying tcc's headers".into(),
                program: "cp".into(),
                arguments: vec![
                    "-r".into(),
                    source.join("include").display().to_string(),
                    build.join("libtcc1.a").display().to_string(),
                    output.display().to_string(),
                ],
                directory: build.clone(),
            },
        ],
        minutes: 1,
        megabytes: 30,
        done: 0,
        tools: vec![Tool::runtime()],
        recipe: Recipe::Tcc,
        source: source.clone(),
        output: output.clone(),
        version,
        roots: Roots(vec![
            Root {
                directory: source.clone(),
                name: String::new(),
            },
            Root {
                directory: build.clone(),
                name: String::new(),
            },
        ]),
        program: Some(build.join("tcc")),
        kind: Kind::TracePc,
        family: "tcc".into(),
        suite: suite.exists().then_some(suite),
    })
}

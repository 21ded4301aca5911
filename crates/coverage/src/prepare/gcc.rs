//! gcc: cc1 alone, its own objects recording, at -O1.
//!
//! # Why so
//! A bootstrap with gcov takes hours and 15 MB per compilation; cc1 alone with `trace-pc` takes a
//! quarter of an hour of one core. The driver, the assembler and the libraries are the stock
//! compiler's: `gcc-12 -B DIRECTORY/` takes its cc1 from there. Objects made by gcc's generators from
//! the machine description record too where they have C code of it (`insn-recog`, `insn-output`,
//! `insn-emit`, `insn-preds`); the tables among them (`insn-attrtab`, the automata) do not.
//!
//! # Limits
//! No link-time optimisation, no plugins, no isl, no static analyser; C only.

use super::{Plan, Recipe, Request, Step, Tool, need};
use crate::files::read_text;
use crate::map::{Root, Roots};
use crate::{Error, Kind};

const CONFIGURE: &str = "--enable-languages=c --disable-bootstrap --disable-multilib --disable-nls --disable-lto \
    --disable-plugin --disable-analyzer --disable-libssp --disable-libquadmath --disable-libgomp \
    --disable-libsanitizer --disable-libvtv --disable-libitm --disable-libatomic --disable-werror \
    --enable-checking=release --enable-default-pie --enable-cet --enable-multiarch --with-abi=m64 \
    --with-tune=generic --with-system-zlib --without-isl --build=x86_64-linux-gnu --host=x86_64-linux-gnu \
    --target=x86_64-linux-gnu MAKEINFO=missing CFLAGS=-O1 CXXFLAGS=-O1";

const LIBRARIES: &str = "configure-gcc all-libcpp all-libiberty all-libdecnumber all-libbacktrace all-libcody \
    all-build-libiberty all-build-libcpp MAKEINFO=true";

/// Stands in for g++ while cc1 is built.
const WRAPPER: &str = r#"#!/bin/sh
# Stands in for g++ while cc1 is built: cc1's own objects record their blocks.
output=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && output=$argument
  previous=$argument
done
case $output in
  build/*) exec g++ "$@" ;;
  insn-emit*.o|insn-output.o|insn-preds.o) exec g++ "$@" -O0 -g1 -fsanitize-coverage=trace-pc ;;
  insn-recog.o) exec g++ "$@" -g1 -fsanitize-coverage=trace-pc ;;
  insn-*.o) exec g++ "$@" -O0 ;;
  *.o) exec g++ "$@" -g1 -fsanitize-coverage=trace-pc ;;
  *) exec g++ "$@" ;;
esac
"#;

pub(super) fn plan(request: &Request) -> Result<Plan, Error> {
    let source = &request.source;
    for expected in ["gcc/BASE-VER", "configure", "gcc/toplev.cc"] {
        if !source.join(expected).exists() {
            return Err(Error::Source {
                recipe: "gcc (12 or later)".into(),
                directory: source.clone(),
                expected: expected.into(),
            });
        }
    }
    let version = read_text(&source.join("gcc/BASE-VER"))?.trim().to_owned();
    need(
        "gcc",
        &[
            ("g++", "g++"),
            ("make", "make"),
            ("flex", "flex"),
            ("bison", "bison"),
        ],
        &[
            ("gmp.h", "libgmp-dev"),
            ("mpfr.h", "libmpfr-dev"),
            ("mpc.h", "libmpc-dev"),
            ("zlib.h", "zlib1g-dev"),
        ],
    )?;
    let output = &request.output;
    let build = output.join("build");
    let tools = output.join("tools");
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let jobs = format!("-j{}", request.jobs.max(1));
    let wrap = "-Wl,--wrap=_Z14internal_errorPKcz -Wl,--wrap=_Z11fancy_abortPKciS0_";
    let make = |goal: Vec<String>| [vec![jobs.clone()], goal].concat();
    let cc1 = vec![
        "MAKEINFO=true".into(),
        format!("CXX={}", tools.join("cxx").display()),
        "CXX_FOR_BUILD=g++".into(),
        "COMPILER_FOR_BUILD=g++".into(),
        "LINKER_FOR_BUILD=g++".into(),
        "BUILD_LDFLAGS=".into(),
        "CXXFLAGS=-O1 -w".into(),
        format!(
            "LDFLAGS={}/trace_pc.o {}/internal_error.o {wrap}",
            tools.display(),
            tools.display()
        ),
        "cc1".into(),
    ];
    let root = |directory: std::path::PathBuf, name: &str| Root {
        directory,
        name: name.into(),
    };
    let suite = request
        .suite
        .clone()
        .unwrap_or_else(|| source.join("gcc/testsuite/gcc.c-torture/execute"));
    Ok(Plan {
        what: format!("gcc {version} (cc1)"),
        steps: vec![
            Step {
                name: "runtime",
                words: "compiling the run-time".into(),
                program: "gcc".into(),
                arguments: words("-O2 -fno-PIE -Wall -Wextra -c trace_pc.c internal_error.S"),
                directory: tools,
            },
            Step {
                name: "configure",
                words: "configuring gcc".into(),
                program: source.join("configure"),
                arguments: words(CONFIGURE),
                directory: build.clone(),
            },
            Step {
                name: "libraries",
                words: "building gcc's libraries".into(),
                program: "make".into(),
                arguments: make(words(LIBRARIES)),
                directory: build.clone(),
            },
            Step {
                name: "cc1",
                words: "building cc1".into(),
                program: "make".into(),
                arguments: make(cc1),
                directory: build.join("gcc"),
            },
        ],
        minutes: 20,
        megabytes: 1500,
        done: 0,
        tools: vec![
            Tool::runtime(),
            Tool::new(
                "internal_error.S",
                include_str!("../../runtime/internal_error.S"),
            ),
            Tool::new("cxx", WRAPPER).executable(),
        ],
        recipe: Recipe::Gcc,
        source: source.clone(),
        output: output.clone(),
        version,
        roots: Roots(vec![
            root(source.join("gcc"), ""),
            root(build.join("gcc"), ""),
            root(source.clone(), ""),
        ]),
        program: Some(build.join("gcc/cc1")),
        kind: Kind::TracePc,
        family: "gcc".into(),
        suite: suite.exists().then_some(suite),
    })
}

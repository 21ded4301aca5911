//! LLVM: its optimiser and code generator for x86 as libraries that record, at -O1, with a small driver.
//!
//! # Why so
//! Most of clang is its front end, which optimisation bugs are not in; the stock clang makes bitcode of a
//! program, and what it would do next is done by the recording libraries in one process
//! (`runtime/llvm/driver.c`). That is 1,300 objects instead of 2,500. Two thirds of the time of most of them
//! goes into the same headers, which a precompiled header reads once (`runtime/llvm/prefix.sh`). An
//! installed `llvm-tblgen` of the same release is used.
//!
//! # Limits
//! x86 only. What clang sets that LLVM's C interface cannot is listed in the driver.

use std::path::{Path, PathBuf};

use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Job, Limits, Sandbox};

use super::{Plan, Recipe, Request, Step, Tool, need};
use crate::files::read_text;
use crate::map::{Root, Roots};
use crate::{Error, Kind};

const FLAGS: &str = "-O1 -DNDEBUG -gline-tables-only -w -fsanitize-coverage=bb,no-prune,trace-pc";

const OPTIONS: &str = "-DCMAKE_BUILD_TYPE=Release -DLLVM_ENABLE_PIC=OFF -DLLVM_ENABLE_ASSERTIONS=OFF \
    -DLLVM_TARGETS_TO_BUILD=X86 -DLLVM_ENABLE_ZLIB=OFF -DLLVM_ENABLE_ZSTD=OFF -DLLVM_ENABLE_LIBXML2=OFF \
    -DLLVM_ENABLE_TERMINFO=OFF -DLLVM_ENABLE_LIBEDIT=OFF -DLLVM_INCLUDE_TESTS=OFF -DLLVM_INCLUDE_BENCHMARKS=OFF \
    -DLLVM_INCLUDE_EXAMPLES=OFF -DLLVM_INCLUDE_DOCS=OFF -DLLVM_INCLUDE_UTILS=OFF -DLLVM_ENABLE_BINDINGS=OFF";

const GOALS: &str =
    "llvm-config LLVMPasses LLVMX86CodeGen LLVMX86AsmParser LLVMX86Disassembler LLVMBitReader";

/// The program that is built.
pub(crate) const PROGRAM: &str = "llvm";

/// Newest first: what of clang is looked for to build with.
const CLANGS: std::ops::RangeInclusive<u32> = 13..=24;

pub(super) fn plan(request: &Request) -> Result<Plan, Error> {
    // The whole monorepo, or its llvm folder.
    let source = match request.source.join("llvm/CMakeLists.txt").exists() {
        true => request.source.join("llvm"),
        false => request.source.clone(),
    };
    for expected in [
        "CMakeLists.txt",
        "lib/Passes/PassBuilder.cpp",
        "include/llvm-c/Transforms/PassBuilder.h",
        "../cmake/Modules",
    ] {
        if !source.join(expected).exists() {
            return Err(Error::Source {
                recipe: "LLVM (14 or later, the folders llvm, cmake and third-party)".into(),
                directory: source,
                expected: expected.into(),
            });
        }
    }
    let version = release(&source)?;
    let clang = CLANGS
        .rev()
        .find_map(|number| find_on_path(format!("clang++-{number}")))
        .or_else(|| find_on_path("clang++"));
    need(
        "LLVM",
        &[("cmake", "cmake"), ("ninja", "ninja-build"), ("gcc", "gcc")],
        &[],
    )?;
    let Some(clang) = clang else {
        return Err(Error::Missing {
            recipe: "LLVM".into(),
            missing: "clang++".into(),
            packages: "clang".into(),
        });
    };
    let output = &request.output;
    let (build, tools) = (output.join("build"), output.join("tools"));
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let jobs = format!("-j{}", request.jobs.max(1));
    let step = |name, says: &str, program: &str, arguments: Vec<String>| Step {
        name,
        words: says.into(),
        program: program.into(),
        arguments,
        directory: build.clone(),
    };
    let suite = request
        .suite
        .clone()
        .unwrap_or_else(|| source.join("../clang/test/CodeGen"));
    Ok(Plan {
        what: format!("LLVM {version} (optimiser and code generation for x86)"),
        steps: vec![
            Step {
                directory: tools.clone(),
                ..step(
                    "runtime",
                    "compiling the run-time",
                    "gcc",
                    words("-O2 -fno-PIE -Wall -Wextra -c trace_pc.c"),
                )
            },
            step(
                "configure",
                "configuring LLVM",
                "cmake",
                configuration(&source, &tools, &clang, &version),
            ),
            step(
                "generated",
                "generating headers",
                "ninja",
                vec![jobs.clone(), "intrinsics_gen".into()],
            ),
            step(
                "prefix",
                "reading the common headers",
                "sh",
                vec![
                    tools.join("prefix.sh").display().to_string(),
                    tools.display().to_string(),
                ],
            ),
            step(
                "libraries",
                "building LLVM's libraries",
                "ninja",
                [vec![jobs], words(GOALS)].concat(),
            ),
            step(
                "link",
                "linking",
                "sh",
                vec![
                    tools.join("link.sh").display().to_string(),
                    tools.display().to_string(),
                    source.display().to_string(),
                ],
            ),
        ],
        tools: vec![
            Tool::runtime(),
            Tool::new("cxx", include_str!("../../runtime/llvm/cxx")).executable(),
            Tool::new("prefix.h", include_str!("../../runtime/llvm/prefix.h")),
            Tool::new("prefix.sh", include_str!("../../runtime/llvm/prefix.sh")),
            Tool::new("driver.c", include_str!("../../runtime/llvm/driver.c")),
            Tool::new("link.sh", include_str!("../../runtime/llvm/link.sh")),
            Tool::new("compiler", &format!("{}\n", clang.display())),
        ],
        minutes: 45,
        megabytes: 2000,
        done: 0,
        recipe: Recipe::Llvm,
        source: request.source.clone(),
        output: output.clone(),
        version,
        roots: Roots(vec![
            Root {
                directory: source.join("lib"),
                name: String::new(), // as the pass tables name files
            },
            Root {
                directory: build.join("lib"),
                name: String::new(),
            },
            Root {
                directory: source.join("include/llvm"),
                name: "include/".into(),
            },
            Root {
                directory: build.join("include/llvm"),
                name: "include/".into(),
            },
        ]),
        program: Some(build.join(PROGRAM)),
        kind: Kind::TracePc,
        family: "clang".into(),
        suite: suite.exists().then_some(suite),
    })
}

fn configuration(source: &Path, tools: &Path, clang: &Path, version: &str) -> Vec<String> {
    let c = clang.display().to_string().replace("clang++", "clang");
    let mut arguments: Vec<String> = vec![
        "-GNinja".into(),
        "-S".into(),
        source.display().to_string(),
        "-B.".into(),
        format!("-DCMAKE_C_COMPILER={c}"),
        format!("-DCMAKE_CXX_COMPILER={}", tools.join("cxx").display()),
        format!("-DCMAKE_C_FLAGS_RELEASE={FLAGS}"),
        format!("-DCMAKE_CXX_FLAGS_RELEASE={FLAGS}"),
        format!(
            "-DCMAKE_EXE_LINKER_FLAGS=-no-pie -fno-sanitize-link-runtime {}",
            tools.join("trace_pc.o").display()
        ),
    ];
    arguments.extend(OPTIONS.split_whitespace().map(str::to_owned));
    if let Some(generator) = generator(version) {
        arguments.push(format!("-DLLVM_TABLEGEN={}", generator.display()));
    }
    arguments
}

/// An installed table generator of the same release, in Debian's folder of a major version.
fn generator(version: &str) -> Option<PathBuf> {
    let (major, _) = version.split_once('.')?;
    let generator = PathBuf::from(format!("/usr/lib/llvm-{major}/bin/llvm-tblgen"));
    let job = Job::new(&generator, Path::new("/")).arg("--version");
    let answer = Sandbox::detect().run(&job, &Limits::compiler()).ok()?;
    let same = format!("version {version}");
    answer.stdout_text().contains(&same).then_some(generator)
}

/// `16.0.6`, by the build files.
fn release(source: &Path) -> Result<String, Error> {
    let mut text = read_text(&source.join("CMakeLists.txt"))?;
    if let Ok(more) = read_text(&source.join("../cmake/Modules/LLVMVersion.cmake")) {
        text.push_str(&more); // from 20 on
    }
    let part = |name: &str| {
        let line = format!("set(LLVM_VERSION_{name} ");
        let (_, after) = text.split_once(&line)?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    };
    match (part("MAJOR"), part("MINOR"), part("PATCH")) {
        (Some(major), Some(minor), Some(patch)) => Ok(format!("{major}.{minor}.{patch}")),
        _ => Err(Error::Source {
            recipe: "LLVM".into(),
            directory: source.to_owned(),
            expected: "a CMakeLists.txt that says its release".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The little of a tree that is looked at before anything is built.
    fn tree(root: &Path, build_file: &str) {
        for folder in [
            "llvm/lib/Passes",
            "llvm/include/llvm-c/Transforms",
            "cmake/Modules",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("llvm/CMakeLists.txt"), build_file).unwrap();
        for file in [
            "lib/Passes/PassBuilder.cpp",
            "include/llvm-c/Transforms/PassBuilder.h",
        ] {
            std::fs::write(root.join("llvm").join(file), "").unwrap();
        }
    }

    #[test]
    fn the_release_is_read_where_old_and_new_trees_have_it() {
        let parts =
            "set(LLVM_VERSION_MAJOR 16)\nset(LLVM_VERSION_MINOR 0)\nset(LLVM_VERSION_PATCH 6)\n";
        let old = tempfile::tempdir().unwrap();
        tree(old.path(), parts);
        assert_eq!(release(&old.path().join("llvm")).unwrap(), "16.0.6");
        let new = tempfile::tempdir().unwrap();
        tree(new.path(), "include(LLVMVersion)\n");
        assert!(release(&new.path().join("llvm")).is_err());
        let version = parts.replace("16", "21").replace("set(", "  set(");
        std::fs::write(new.path().join("cmake/Modules/LLVMVersion.cmake"), version).unwrap();
        assert_eq!(release(&new.path().join("llvm")).unwrap(), "21.0.6");
    }

    #[test]
    fn a_plan_is_made_of_the_monorepo_or_its_llvm_folder_and_of_nothing_else() {
        let source = tempfile::tempdir().unwrap();
        tree(
            source.path(),
            "set(LLVM_VERSION_MAJOR 3)\nset(LLVM_VERSION_MINOR 1)\nset(LLVM_VERSION_PATCH 4)\n",
        );
        let request = |source: PathBuf| Request {
            recipe: Recipe::Llvm,
            source,
            output: "/nowhere/out".into(),
            jobs: 2,
            command: None,
            suite: None,
        };
        for place in [source.path().to_owned(), source.path().join("llvm")] {
            match plan(&request(place)) {
                Ok(plan) => {
                    assert_eq!(
                        (plan.version.as_str(), plan.family.as_str()),
                        ("3.1.4", "clang")
                    );
                    assert_eq!(plan.steps.len(), 6);
                }
                // Where cmake or ninja are not installed, that is what is said.
                Err(error) => assert!(error.to_string().contains("apt-get install"), "{error}"),
            }
        }
        let error = plan(&request("/etc".into())).unwrap_err().to_string();
        assert!(error.contains("CMakeLists.txt"), "{error}");
    }
}

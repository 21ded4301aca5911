//! Seeds: programs that Csmith makes with options the seed decides, and files of the user's.
//!
//! Csmith (Yang et al., PLDI 2011) makes closed programs without undefined behaviour. Varying what it may use
//! ("swarm testing", Groce et al., ISSTA 2012) reaches more of a compiler than any one set of options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_store::{Hash, Lease, Stream};
use candor_toolchain::{Ending, Job, Limits, Program, Sandbox, Scratch};

use crate::Error;

/// The sequence of Csmith's seeds.
pub const CSMITH: &str = "csmith";
/// Smaller programs have hardly a point that is reached.
const SMALLEST: usize = 7_000;
/// Larger ones cost more than they show.
const LARGEST: usize = 600_000;
/// For Csmith itself, which now and then does not end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program to judge, or why there is none.
pub type Generated = Result<Program, String>;

/// The options of one seed. Those that make programs useless as seeds are never on: packed structs, built-in functions
/// and floats trip UBSan, unions cannot be mutated soundly.
#[must_use]
pub fn csmith_options(seed: u64) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x0063_616e_646f_7221);
    let mut options: Vec<String> = ["--no-packed-struct", "--no-unions"]
        .map(String::from)
        .to_vec();
    for (name, range) in [
        ("--max-funcs", 3..=6),
        ("--max-block-depth", 2..=4),
        ("--max-block-size", 3..=4),
        ("--max-expr-complexity", 4..=7),
        ("--max-array-dim", 1..=2),
        ("--max-array-len-per-dim", 3..=8),
        ("--max-pointer-depth", 1..=3),
        ("--max-struct-fields", 3..=8),
    ] {
        options.extend([name.to_owned(), random.u32(range).to_string()]);
    }
    // One in five of these is missing from a program.
    for off in [
        "--no-arrays",
        "--no-bitfields",
        "--no-comma-operators",
        "--no-consts",
        "--no-divs",
        "--no-embedded-assigns",
        "--no-jumps",
        "--no-longlong",
        "--no-pointers",
        "--no-structs",
        "--no-volatiles",
        "--no-int8",
    ] {
        if random.u32(0..5) == 0 {
            options.push(off.to_owned());
        }
    }
    if random.u32(0..5) == 0 {
        options.push("--inline-function".to_owned());
    }
    options
}

/// The command that makes a seed's program.
#[must_use]
pub fn csmith_command(seed: u64) -> String {
    format!("csmith --seed {seed} {}", csmith_options(seed).join(" "))
}

/// Csmith's release, in its own words.
pub fn csmith_version(sandbox: &Sandbox, scratch: &Scratch) -> Result<String, Error> {
    let directory = scratch.job()?;
    let job = Job::new("csmith", directory.path()).arg("--version");
    let run = sandbox
        .run(&job, &Limits::program())
        .map_err(|error| match error {
            candor_toolchain::Error::NotOnPath { .. } => Error::Missing {
                what: "csmith",
                advice: "programs are generated with it; install csmith and libcsmith-dev, or give --corpus DIR and --generator none",
            },
            other => other.into(),
        })?;
    Ok(run
        .stdout_text()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned())
}

/// Csmith's program of a seed.
pub fn csmith(sandbox: &Sandbox, scratch: &Scratch, seed: u64) -> Result<Generated, Error> {
    let directory = scratch.job()?;
    let job = Job::new("csmith", directory.path())
        .args(["--seed", &seed.to_string()])
        .args(csmith_options(seed));
    let limits = Limits {
        wall: PATIENCE * 6,
        cpu: PATIENCE,
        ..Limits::program()
    };
    let run = sandbox.run(&job, &limits)?;
    if run.ending != Ending::Exited(0) {
        return Ok(Err(format!("csmith: {}", run.ending)));
    }
    let text = run.stdout_text();
    Ok(match text.len() {
        length if length < SMALLEST => Err("too small".into()),
        length if length > LARGEST => Err("too large".into()),
        _ => Ok(Program::from_text(
            Path::new(&format!("csmith-{seed}.c")),
            text,
        )),
    })
}

/// A program of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Where it is.
    pub path: PathBuf,
    /// Its sequence: the content decides, so that two copies are one and a changed file is new.
    pub stream: Stream,
}

/// All C and Rust files below `folders`, sorted, each content once; and what could not be read, in words.
pub fn corpus(folders: &[PathBuf]) -> Result<(Vec<Member>, Vec<String>), Error> {
    let mut files = Vec::new();
    for folder in folders {
        collect(folder, &mut files)?;
    }
    files.sort();
    files.dedup();
    let mut members: Vec<Member> = Vec::new();
    let mut unread = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for path in files {
        match candor_toolchain::program::read_source(&path) {
            Ok(text) => {
                let stream = Stream(format!("corpus/{}", Hash::of(text.as_bytes())));
                if known.insert(stream.clone()) {
                    members.push(Member { path, stream });
                }
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    Ok((members, unread))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error| candor_toolchain::Error::file("read", path, error);
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // Links are not followed: a loop of them would never end.
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            collect(&path, files)?;
        } else if kind.is_file()
            && path
                .extension()
                .is_some_and(|end| end == "c" || end == "rs")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The number that decides variants: a Csmith seed's own, or one of a file's content.
#[must_use]
pub fn variant_seed(lease: &Lease) -> u64 {
    match lease.stream.0.strip_prefix("corpus/") {
        Some(hash) => u64::from_str_radix(hash.get(..15).unwrap_or("1"), 16).unwrap_or(1),
        None => lease.number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_the_options_and_they_vary() {
        assert_eq!(csmith_options(7), csmith_options(7));
        let all: std::collections::BTreeSet<String> =
            (0..50).map(|seed| csmith_options(seed).join(" ")).collect();
        assert!(all.len() > 45, "{} sets of options in 50 seeds", all.len());
        let without = |name: &str| all.iter().filter(|text| text.contains(name)).count();
        assert!(without("--no-structs") > 2 && without("--no-structs") < 25);
        assert_eq!(without("--no-unions"), all.len());
    }

    #[test]
    fn csmith_makes_the_same_program_of_a_seed() {
        let sandbox = Sandbox::detect();
        let scratch = Scratch::new().unwrap();
        let seeds = 1..12;
        let made: Vec<Generated> = seeds
            .clone()
            .map(|seed| csmith(&sandbox, &scratch, seed).unwrap())
            .collect();
        assert!(made.iter().flatten().count() > 4, "{made:?}");
        for (seed, first) in seeds.zip(made) {
            assert_eq!(csmith(&sandbox, &scratch, seed).unwrap(), first);
        }
        assert!(
            csmith_version(&sandbox, &scratch)
                .unwrap()
                .starts_with("csmith")
        );
    }

    #[test]
    fn a_corpus_is_its_contents_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("b.c", "int b;");
        write("below/a.c", "int a;");
        write("copy.c", "int b;");
        write("r.rs", "fn main() {}");
        write("notes.txt", "int c;");
        write("binary.c", "int\0d;");
        let (members, unread) = corpus(&[folder.path().to_owned()]).unwrap();
        let names: Vec<_> = members
            .iter()
            .map(|member| member.path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["b.c", "a.c", "r.rs"]);
        assert_eq!(unread.len(), 1);
        assert!(unread[0].contains("not text"));
        let error = corpus(&["/nonexistent".into()]).unwrap_err().to_string();
        assert!(error.contains("/nonexistent"), "{error}");
    }
}

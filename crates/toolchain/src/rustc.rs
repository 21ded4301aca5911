//! What rustc is called with: the flags of every build of a check, and levels spelled as for C.

/// The edition where the user names none; rustc's own default is of 2015.
const EDITION: &str = "2021";

/// Flags of a build: debug information, one codegen unit, and the checks that depend on the level fixed to a release
/// build's, so that every level is the same program. `flags` are the level's (`-O2` and the like are translated), `user`
/// comes last and wins.
pub fn build_flags(flags: &[String], user: &[String]) -> Vec<String> {
    let mut all: Vec<String> = [
        "--crate-name=program",
        "--cap-lints=allow",
        "-Cdebuginfo=2",
        "-Ccodegen-units=1",
        "-Coverflow-checks=off",
        "-Cdebug-assertions=off",
    ]
    .map(String::from)
    .to_vec();
    if !user.iter().any(|flag| flag.starts_with("--edition")) {
        all.push(format!("--edition={EDITION}"));
    }
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        match (flag.as_str(), words.as_slice().first()) {
            // clang's way to speak to LLVM
            ("-mllvm", Some(argument)) => {
                all.push(format!("-Cllvm-args={argument}"));
                words.next();
            }
            _ => all.push(translate(flag)),
        }
    }
    all.extend(user.iter().cloned());
    all
}

/// `-O2` and the like as rustc spells them; anything else as it is, and rustc may refuse it.
fn translate(flag: &str) -> String {
    match flag {
        "-fno-vectorize" => return "-Cno-vectorize-loops".to_owned(),
        "-fno-slp-vectorize" => return "-Cno-vectorize-slp".to_owned(),
        _ => {}
    }
    match flag.strip_prefix("-O") {
        Some(level @ ("0" | "1" | "2" | "3" | "s" | "z")) => format!("-Copt-level={level}"),
        _ => flag.to_owned(),
    }
}

/// Whether rustc has a level of that name; `-Og` it has not.
pub fn has_level(level: &str) -> bool {
    matches!(level, "-O0" | "-O1" | "-O2" | "-O3" | "-Os" | "-Oz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_translated_and_the_user_has_the_last_word() {
        let user = [
            "--edition=2024".to_owned(),
            "-Coverflow-checks=on".to_owned(),
        ];
        let flags = build_flags(&["-O2".to_owned(), "-Zmir-opt-level=0".to_owned()], &user);
        assert!(flags.contains(&"-Copt-level=2".to_owned()));
        assert!(flags.contains(&"-Zmir-opt-level=0".to_owned()));
        assert_eq!(
            flags
                .iter()
                .filter(|flag| flag.starts_with("--edition"))
                .count(),
            1
        );
        assert_eq!(
            flags.last().map(String::as_str),
            Some("-Coverflow-checks=on")
        );
        assert!(build_flags(&[], &[]).contains(&"--edition=2021".to_owned()));
        let bisect = ["-O2", "-mllvm", "-opt-bisect-limit=3", "-fno-vectorize"].map(String::from);
        let flags = build_flags(&bisect, &[]);
        assert!(flags.ends_with(&[
            "-Copt-level=2".to_owned(),
            "-Cllvm-args=-opt-bisect-limit=3".to_owned(),
            "-Cno-vectorize-loops".to_owned(),
        ]));
        assert!(has_level("-Os") && !has_level("-Og"));
    }
}

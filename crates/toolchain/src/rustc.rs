//! What rustc is called with: the flags of every build of a check, and levels spelled as for C. And what it calls
//! functions.

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
    all.extend(spelled(flags));
    all.extend(user.iter().cloned());
    all
}

/// Flags as rustc spells them: levels, and clang's way to speak to LLVM.
pub fn spelled(flags: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = flags.iter();
    while let Some(flag) = words.next() {
        match (flag.as_str(), words.as_slice().first()) {
            ("-mllvm", Some(argument)) => {
                all.push(format!("-Cllvm-args={argument}"));
                words.next();
            }
            _ => all.push(translate(flag)),
        }
    }
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

/// Text with every symbol of rustc's in it as Rust writes that path: `_ZN3gcd8extended17h47bfb2c94d74f206E` is
/// `gcd::extended`. Anything else stays.
pub fn readable(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        out.push_str(before);
        match demangled(word) {
            Some(path) => out.push_str(&path),
            None => out.push_str(word),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A symbol as a path, without rustc's hash; `None` for what is no symbol of rustc's. C++ names look alike in the older of
/// its two schemes, but for the hash.
fn demangled(symbol: &str) -> Option<String> {
    let legacy = symbol.starts_with("_ZN");
    if !legacy && !symbol.starts_with("_R") {
        return None;
    }
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let (whole, path) = (name.to_string(), format!("{name:#}"));
    (!legacy || whole != path).then_some(path)
}

/// Whether two names mean one function: as they are, as paths, or one as the last part of the other's path.
pub fn same_function(one: &str, other: &str) -> bool {
    let (one, other) = (readable(one), readable(other));
    let ends = |path: &str, name: &str| {
        let rest = path.strip_suffix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    };
    !one.is_empty() && !other.is_empty() && (ends(&one, &other) || ends(&other, &one))
}

/// Whether rustc has a level of that name; `-Og` it has not.
pub fn has_level(level: &str) -> bool {
    matches!(level, "-O0" | "-O1" | "-O2" | "-O3" | "-Os" | "-Oz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_paths() {
        let symbol = "_ZN3gcd8extended17h47bfb2c94d74f206E";
        assert_eq!(readable(symbol), "gcd::extended");
        assert_eq!(
            readable(&format!("loop %bb3 in function {symbol}")),
            "loop %bb3 in function gcd::extended"
        );
        assert_eq!(
            readable(
                "_ZN4core3fmt3num50_$LT$impl$u20$core..fmt..Debug$u20$for$u20$i32$GT$3fmt17h0123456789abcdefE"
            ),
            "core::fmt::num::<impl core::fmt::Debug for i32>::fmt"
        );
        assert_eq!(
            readable("_RNvCskwGfYPst2Cb_3foo16example_function"),
            "foo::example_function"
        );
        // what is not rustc's stays
        for other in [
            "main",
            "function (main)",
            "_ZN4llvm11InstructionD2Ev",
            "_ZN4llvm1fE",
            "_R",
            "a.b $c",
        ] {
            assert_eq!(readable(other), other);
        }
        assert!(same_function(symbol, "extended") && same_function("main", "main"));
        assert!(!same_function(symbol, "tended") && !same_function("", "main"));
    }

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
        let said = [
            "-Copt-level=2",
            "-Cllvm-args=-opt-bisect-limit=3",
            "-Cno-vectorize-loops",
        ];
        assert_eq!(spelled(&bisect), said);
        let flags = build_flags(&bisect, &[]);
        assert!(flags.ends_with(&said.map(String::from)));
        assert!(has_level("-Os") && !has_level("-Og"));
    }
}

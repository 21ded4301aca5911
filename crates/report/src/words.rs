//! Numbers, times and kinds as people read them.

use std::time::{Duration, UNIX_EPOCH};

use candor_store::Timestamp;

/// `2026-11-16 04:20 UTC`.
pub(crate) fn time(at: Timestamp) -> String {
    let millis = u64::try_from(at.0).unwrap_or(0);
    // humantime refuses years beyond 9999, which a damaged store may hold
    let Some(at) = UNIX_EPOCH
        .checked_add(Duration::from_millis(millis))
        .filter(|_| millis < 253_402_300_800_000)
    else {
        return "an unknown time".into();
    };
    let text = humantime::format_rfc3339_seconds(at).to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => text,
    }
}

/// `3 h 20 min`, `45 s`.
pub(crate) fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// `480,123,456`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 finding`, `3 findings`.
pub(crate) fn count(value: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        number(value),
        if value == 1 { "" } else { "s" }
    )
}

/// A title cut at its backticks: (is code, text).
pub(crate) fn marked(title: &str) -> Vec<(bool, String)> {
    let parts: Vec<&str> = title.split('`').collect();
    // an odd number of backticks marks nothing
    if parts.len().is_multiple_of(2) {
        return vec![(false, title.to_owned())];
    }
    parts
        .into_iter()
        .enumerate()
        .map(|(place, text)| (place % 2 == 1, text.to_owned()))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

/// What a kind means, in one sentence.
pub(crate) fn kind_meaning(kind: &str) -> &'static str {
    match kind {
        "miscompilation" => "The optimised program behaves differently from the unoptimised one.",
        "crash" => "The compiler crashes on a valid program.",
        "hang" => "The compiler does not finish in time on a valid program.",
        "wrong-value" => "A debugger shows a value that the variable does not have.",
        "ill-formed-location" => "A variable's location breaks the DWARF standard.",
        "write-only-static" => {
            "A static variable that is never read lost its stores, and shows an old value."
        }
        "wrong-referent" => "A reference leads to something that is not what it refers to.",
        "wrong-line" => "A debugger shows another line than the one that is executed.",
        "wrong-frame" => "A debugger shows another function, or another chain of callers.",
        "debugger-disagrees" => {
            "The debug information is right; the debugger shows something else."
        }
        "debugger-crash" => "The debugger dies or hangs on the debug information.",
        "lost" => "The debug information no longer shows a variable.",
        _ => "A violated expectation.",
    }
}

/// Kinds in the order of their weight.
pub(crate) fn kind_weight(kind: &str) -> usize {
    const ORDER: [&str; 11] = [
        "miscompilation",
        "crash",
        "hang",
        "wrong-value",
        "ill-formed-location",
        "wrong-frame",
        "wrong-line",
        "debugger-disagrees",
        "debugger-crash",
        "write-only-static",
        "wrong-referent",
    ];
    ORDER
        .iter()
        .position(|known| *known == kind)
        .unwrap_or(ORDER.len())
}

/// Levels in the order people list them: `-O0 -Og -O1 -O2 -O3 -Os -Oz`, then the rest.
pub(crate) fn level_key(level: &str) -> (usize, String) {
    const ORDER: [&str; 8] = ["-O0", "-Og", "-O1", "-O2", "-O3", "-Ofast", "-Os", "-Oz"];
    let place = ORDER.iter().position(|known| *known == level);
    (place.unwrap_or(ORDER.len()), level.to_owned())
}

/// Commands with numbers sorted by number: `gcc-9` before `gcc-12`.
pub(crate) fn compiler_key(name: &str) -> (String, u64, String) {
    let (stem, version) = name.rsplit_once('-').unwrap_or((name, ""));
    (
        stem.to_owned(),
        version.parse().unwrap_or(0),
        name.to_owned(),
    )
}

/// A name that is fine as a file name on any system and in a URL.
pub(crate) fn slug(name: &str) -> String {
    let plain: String = name
        .chars()
        .take(80)
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '-'
            }
        })
        .collect();
    if plain.is_empty() { "-".into() } else { plain }
}

/// A file name as it may appear in a folder: dots are fine, but not at the front.
pub(crate) fn file_slug(name: &str) -> String {
    let plain: String = name
        .chars()
        .take(100)
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-+".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    match plain.trim_start_matches('.') {
        "" => "file".into(),
        rest => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!(number(7), "7");
        assert_eq!(number(480_123_456), "480,123,456");
        assert_eq!(count(1, "finding"), "1 finding");
        assert_eq!(count(1200, "finding"), "1,200 findings");
        assert_eq!(time(Timestamp(1_794_802_856_000)), "2026-11-16 04:20 UTC");
        assert_eq!(time(Timestamp(i64::MAX)), "an unknown time");
        assert_eq!(time(Timestamp(-5)), "1970-01-01 00:00 UTC");
        assert_eq!(duration(Duration::from_secs(45)), "45 s");
        assert_eq!(duration(Duration::from_secs(12_000)), "3 h 20 min");
    }

    #[test]
    fn backticks_mark_code() {
        let text = |part: &str| (false, part.to_owned());
        assert_eq!(marked("`i` in f"), [(true, "i".to_owned()), text(" in f")]);
        assert_eq!(marked("it`s"), [text("it`s")]);
    }

    #[test]
    fn names_become_harmless_paths() {
        assert_eq!(slug("../../etc/passwd"), "------etc-passwd");
        assert_eq!(file_slug("../a b<c>.c"), "_a_b_c_.c");
        assert_eq!(file_slug(".."), "file");
        assert_eq!(slug(""), "-");
    }

    #[test]
    fn compilers_and_levels_sort_as_people_do() {
        let mut names = ["gcc-12", "clang-19", "gcc-9", "clang-9"];
        names.sort_by_key(|name| compiler_key(name));
        assert_eq!(names, ["clang-9", "clang-19", "gcc-9", "gcc-12"]);
        let mut levels = ["-Os", "-O2 -fno-ivopts", "-O1", "-Og", "-O0"];
        levels.sort_by_key(|level| level_key(level));
        assert_eq!(levels, ["-O0", "-Og", "-O1", "-Os", "-O2 -fno-ivopts"]);
    }
}

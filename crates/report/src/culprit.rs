//! What isolate said, as far as a report shows it.
//!
//! The store does not look into a culprit, and neither its producer nor its form is fixed by this crate: fields
//! that are missing are left out of the page, so that an older or newer candor's findings still show.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who is to blame, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    /// The pass, in the compiler's words.
    pub pass: String,
    /// Its source files.
    #[serde(default)]
    pub files: Vec<String>,
    /// On what it worked.
    #[serde(default)]
    pub place: Option<String>,
    /// Which run of it, or which transformation, in words.
    #[serde(default)]
    pub instance: Option<String>,
    /// Flags that switch it off and make the finding vanish.
    #[serde(default)]
    pub disable: Vec<String>,
    /// Why it is blamed.
    #[serde(default)]
    pub why: Vec<String>,
    /// Other changes that make the finding vanish: the flags of each.
    #[serde(default)]
    pub cures: Vec<String>,
    /// Installed releases: command, version, whether they show it.
    #[serde(default)]
    pub releases: Vec<Release>,
    /// What the pass changed: of what, and the difference.
    #[serde(default)]
    pub change: Option<Change>,
    /// The compiler's own words about it.
    #[serde(default)]
    pub diagnosis: Option<String>,
    /// Further passes that are suspected.
    #[serde(default)]
    pub others: Vec<String>,
}

/// One installed release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Its command.
    pub compiler: String,
    /// Its number.
    #[serde(default)]
    pub version: String,
    /// Whether it shows the finding; `None`: cannot be told.
    #[serde(default)]
    pub bad: Option<bool>,
}

/// What a pass changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Of what: `LLVM IR`, `GIMPLE`.
    #[serde(default)]
    pub of: String,
    /// The lines, each starting with ' ', '-' or '+'.
    #[serde(default)]
    pub lines: Vec<String>,
    /// How many were left out.
    #[serde(default)]
    pub left_out: usize,
    /// How to see it all.
    #[serde(default)]
    pub command: String,
}

impl Culprit {
    /// From what a store has; `None` where no pass is named.
    pub fn read(value: &Value) -> Option<Culprit> {
        let first = value.pointer("/suspects/0").unwrap_or(value);
        let pass = match first {
            Value::String(name) => name.clone(),
            _ => text(first, "/pass")
                .or_else(|| text(first, "/pass/name"))
                .or_else(|| text(first, "/name"))?,
        };
        Some(Culprit {
            pass,
            files: texts(first, "/files"),
            place: text(first, "/place"),
            instance: instance(first),
            disable: match texts(first, "/disable") {
                none if none.is_empty() => texts(first, "/pass/disable"),
                some => some,
            },
            why: texts(first, "/why"),
            cures: list(value, "/cures")
                .iter()
                .map(|cure| {
                    let flags = texts(cure, "/flags");
                    match flags.is_empty() {
                        true => text(cure, "/name").unwrap_or_default(),
                        false => flags.join(" "),
                    }
                })
                .filter(|cure| !cure.is_empty())
                .collect(),
            releases: list(value, "/releases/seen")
                .iter()
                .filter_map(|release| serde_json::from_value(release.clone()).ok())
                .collect(),
            change: value
                .pointer("/change")
                .and_then(|change| serde_json::from_value(change.clone()).ok()),
            diagnosis: text(value, "/diagnosis/message"),
            others: list(value, "/suspects")
                .iter()
                .skip(1)
                .filter_map(|suspect| text(suspect, "/pass"))
                .collect(),
        })
    }
}

fn instance(suspect: &Value) -> Option<String> {
    let number = |path: &str| suspect.pointer(path).and_then(Value::as_u64);
    if let (Some(run), Some(total)) = (number("/run/number"), number("/run/total")) {
        return Some(format!("run {run} of {total} pass runs"));
    }
    let counter = text(suspect, "/instance/counter")?;
    let number = number("/instance/number")?;
    Some(format!(
        "transformation {number} of debug counter {counter}"
    ))
}

fn text(value: &Value, path: &str) -> Option<String> {
    let text = value.pointer(path)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    value
        .pointer(path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn texts(value: &Value, path: &str) -> Vec<String> {
    list(value, path)
        .iter()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_isolate_says_is_read() {
        let said = json!({
            "outcome": {"is": "found"},
            "suspects": [
                {"pass": "tree-ivopts", "files": ["tree-ssa-loop-ivopts.cc"], "place": "walk",
                 "disable": ["-fno-ivopts"], "why": ["the finding vanishes without it"],
                 "instance": {"counter": "ivopts_loop", "number": 1, "total": null}},
                {"pass": "cse", "files": []}
            ],
            "cures": [{"kind": "option", "name": "ivopts", "flags": ["-fno-ivopts"]}],
            "releases": {"seen": [{"compiler": "gcc-11", "version": "11.3.0", "bad": true, "note": null}],
                         "first_bad": null, "last_good": null},
            "change": {"of": "GIMPLE", "function": "walk", "lines": ["-a", "+b"], "left_out": 3,
                       "source_lines": [8], "command": "gcc-12 -fdump-tree-ivopts x.c"}
        });
        let culprit = Culprit::read(&said).unwrap();
        assert_eq!(culprit.pass, "tree-ivopts");
        assert_eq!(
            culprit.instance.as_deref(),
            Some("transformation 1 of debug counter ivopts_loop")
        );
        assert_eq!(culprit.cures, ["-fno-ivopts"]);
        assert_eq!(culprit.others, ["cse"]);
        assert_eq!(culprit.releases[0].bad, Some(true));
        assert_eq!(culprit.change.unwrap().lines, ["-a", "+b"]);
    }

    #[test]
    fn shorter_forms_are_read_and_nonsense_is_none() {
        let pass = |value| Culprit::read(&value).map(|culprit| culprit.pass);
        assert_eq!(pass(json!("licm")).as_deref(), Some("licm"));
        assert_eq!(pass(json!({"pass": "licm"})).as_deref(), Some("licm"));
        assert_eq!(
            pass(json!({"pass": {"name": "licm", "disable": []}})).as_deref(),
            Some("licm")
        );
        for nonsense in [
            json!(null),
            json!(3),
            json!({}),
            json!({"suspects": []}),
            json!([]),
        ] {
            assert_eq!(pass(nonsense), None);
        }
    }
}

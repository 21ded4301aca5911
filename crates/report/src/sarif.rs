//! Findings as SARIF 2.1.0 (OASIS), for code hosts and IDEs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::data::{Dossier, Overview};
use crate::words::{file_slug, kind_meaning, time};

const SCHEMA_URI: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One run with a result per unique finding; the reduced programs are embedded.
pub fn sarif(overview: &Overview, dossiers: &[Dossier]) -> Value {
    let kinds: BTreeSet<&str> = dossiers
        .iter()
        .map(|dossier| dossier.entry.kind.as_str())
        .collect();
    let rules: Vec<Value> = kinds
        .iter()
        .map(|kind| {
            json!({
                "id": kind,
                "name": camel(kind),
                "shortDescription": {"text": kind_meaning(kind)},
                "defaultConfiguration": {"level": level(kind)},
            })
        })
        .collect();
    let mut artifacts = Vec::new();
    let results: Vec<Value> = dossiers
        .iter()
        .map(|dossier| {
            let rule = kinds
                .iter()
                .position(|kind| *kind == dossier.entry.kind)
                .unwrap_or(0);
            result(dossier, rule, &mut artifacts)
        })
        .collect();
    let mut invocation = json!({"executionSuccessful": true});
    let iso = |at| format!("{}:00Z", time(at).replace(" UTC", "").replace(' ', "T"));
    if let Some(begun) = overview.begun {
        invocation["startTimeUtc"] = json!(iso(begun));
    }
    if let Some(seen) = overview.seen {
        invocation["endTimeUtc"] = json!(iso(seen));
    }
    json!({
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "candor",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [invocation],
            "columnKind": "utf16CodeUnits",
            "artifacts": artifacts,
            "results": results,
        }],
    })
}

fn result(dossier: &Dossier, rule: usize, artifacts: &mut Vec<Value>) -> Value {
    let entry = &dossier.entry;
    let mut locations = Vec::new();
    if let Some(case) = &dossier.case {
        let uri = format!("finding/{}/{}", entry.slug(), file_slug(&case.program.name));
        let subject = case.claim.subject().map(|subject| subject.line);
        let exhibited = dossier
            .exhibit
            .as_ref()
            .and_then(|exhibit| exhibit.subject.as_ref())
            .map(|subject| subject.line);
        let line = exhibited.or(subject).filter(|line| *line > 0);
        let mut physical = json!({
            "artifactLocation": {"uri": uri, "index": artifacts.len()},
        });
        if let Some(line) = line {
            let text = case.program.text.lines().nth(line as usize - 1);
            physical["region"] = json!({"startLine": line});
            if let Some(text) = text {
                physical["region"]["snippet"] = json!({"text": text});
            }
        }
        artifacts.push(json!({
            "location": {"uri": uri},
            "sourceLanguage": "c",
            "mimeType": "text/x-c",
            "contents": {"text": case.program.text},
        }));
        let mut location = json!({"physicalLocation": physical});
        if let Some(function) = case.claim.subject().and_then(|s| s.function.as_deref()) {
            location["logicalLocations"] = json!([{"name": function, "kind": "function"}]);
        }
        locations.push(location);
    }
    let mut properties = json!({
        "compiler": entry.compiler,
        "compilerVersion": entry.version,
        "level": entry.level,
        "state": entry.state,
        "origin": dossier.origin,
    });
    if let Some(culprit) = &dossier.culprit {
        properties["culprit"] = json!(culprit.pass);
    }
    if let Some(case) = dossier.case.as_ref().filter(|case| !case.replay.is_empty()) {
        properties["replay"] = json!(case.replay);
    }
    json!({
        "ruleId": entry.kind,
        "ruleIndex": rule,
        "level": level(&entry.kind),
        "kind": "fail",
        "message": {"text": format!("{} ({} {})", entry.title, entry.compiler, entry.level)},
        "locations": locations,
        "guid": guid(&entry.id),
        "correlationGuid": guid(&entry.key),
        "occurrenceCount": entry.findings.max(1),
        "partialFingerprints": {"candorKey/v1": candor_store::Hash::of(entry.key.as_bytes()).as_str()},
        "properties": properties,
    })
}

fn level(kind: &str) -> &'static str {
    match kind {
        "write-only-static" | "wrong-referent" | "debugger-disagrees" | "hang" => "warning",
        _ => "error",
    }
}

/// Rule names are in Pascal case by SARIF's custom: `WrongValue`.
fn camel(kind: &str) -> String {
    kind.split('-')
        .map(|word| {
            let mut letters = word.chars();
            match letters.next() {
                Some(first) => first.to_ascii_uppercase().to_string() + letters.as_str(),
                None => String::new(),
            }
        })
        .collect()
}

/// A GUID that depends on `text` only, in the form of a version 5 one: the schema knows no later versions.
fn guid(text: &str) -> String {
    let hash = candor_store::Hash::of(text.as_bytes());
    let digits: Vec<char> = hash.as_str().chars().collect();
    let part = |range: std::ops::Range<usize>| -> String {
        digits.get(range).unwrap_or_default().iter().collect()
    };
    format!(
        "{}-{}-5{}-8{}-{}",
        part(0..8),
        part(8..12),
        part(12..15),
        part(15..18),
        part(18..30)
    )
}

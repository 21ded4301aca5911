//! SARIF output against the schema of the standard (ajv, in node, judges).

use std::path::Path;
use std::process::Command;

use candor_report::{Dossier, Overview, sarif};
use serde_json::Value;

use crate::fixture;
use crate::real::made;

/// What the schema says of each log.
fn verdicts(logs: &[Value]) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("node");
    command
        .arg(here.join("../../tests/browser/sarif.mjs"))
        .arg(here.join("tests/data/sarif-schema-2.1.0.json"));
    for (number, log) in logs.iter().enumerate() {
        let file = directory.path().join(format!("{number}.sarif"));
        std::fs::write(&file, log.to_string()).unwrap();
        command.arg(file);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "run scripts/install.sh --tests: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn real_findings_validate() {
    let store = &*made().store;
    let overview = Overview::read(store).unwrap();
    let dossiers = Dossier::read_all(store, &overview).unwrap();
    let log = sarif(&overview, &dossiers);
    assert_eq!(verdicts(std::slice::from_ref(&log)), ["valid"]);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), overview.findings.len());
    for result in results {
        let rule = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(
            log["runs"][0]["tool"]["driver"]["rules"][rule]["id"],
            result["ruleId"]
        );
    }
}

#[test]
fn invented_and_empty_ones_validate_and_broken_ones_do_not() {
    let good = sarif(&fixture::overview(), &[fixture::dossier()]);
    let mut broken = good.clone();
    broken["runs"][0]["results"][0]["level"] = "catastrophic".into();
    let logs = [
        good,
        sarif(&fixture::hostile_overview(), &[fixture::hostile()]),
        sarif(&fixture::overview(), &[]),
        broken,
    ];
    let verdicts = verdicts(&logs);
    assert_eq!(verdicts[..3], ["valid", "valid", "valid"]);
    assert!(
        verdicts[3].contains("/runs/0/results/0/level"),
        "{verdicts:?}"
    );
}

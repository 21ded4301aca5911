//! Text of programs, compilers and stores that tries to be more than text.

use candor_report::{
    Overview, Site, Tracker, finding_page, overview_page, source_page, terminal, tracker,
};
use candor_store::{
    Campaign, FindingId, Improvement, NewFinding, Signature, SqliteStore, Store, Stream, Timestamp,
};
use serde_json::json;

use crate::fixture::{ATTACKS, hostile, hostile_overview};

/// Every page that shows the hostile finding.
pub fn pages() -> Vec<(&'static str, String)> {
    let (overview, dossier) = (hostile_overview(), hostile());
    let whole = dossier.exhibit.as_ref().unwrap().whole.as_ref().unwrap();
    vec![
        ("index.html", overview_page(&overview, false).unwrap()),
        (
            "finding.html",
            finding_page(&overview, &dossier, false).unwrap(),
        ),
        ("source.html", source_page(whole).unwrap()),
    ]
}

/// Adds a finding whose case is no case.
pub fn add(store: &dyn Store, id: &str, title: &str) {
    let added = store.add(&NewFinding {
        id: FindingId(id.into()),
        stream: Stream("csmith".into()),
        seed: 1,
        variant: None,
        kind: "wrong-value".into(),
        compiler: "gcc-12".into(),
        version: "12.2.0".into(),
        family: "gcc".into(),
        level: "-O1".into(),
        signature: Signature(id.into()),
        priority: 0,
        title: title.into(),
        case: json!({"nothing": "of use"}),
        affected: json!({}),
    });
    assert!(added.unwrap());
}

#[test]
fn nothing_becomes_markup() {
    for (name, page) in pages() {
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        assert!(!page.contains("<img"), "{name}");
        for attack in ATTACKS.iter().filter(|attack| attack.contains('<')) {
            assert!(!page.contains(attack), "{name}: {attack}");
        }
        // the text itself is there, escaped
        assert!(page.contains("pwned"), "{name}");
        // no attribute was left: every quote of an attack is escaped
        assert!(
            !page.contains("\"><im") && !page.contains("onerror=document.title='"),
            "{name}"
        );
        assert!(!page.contains("href=\"javascript:"), "{name}");
    }
}

#[test]
fn terminals_get_no_control_characters() {
    let text = terminal(&hostile_overview());
    let controls: Vec<char> = text
        .chars()
        .filter(|c| c.is_control() && *c != '\n')
        .collect();
    assert!(controls.is_empty(), "{controls:?}");
    assert!(text.contains("pwned"));
}

#[test]
fn markdown_blocks_cannot_be_left() {
    let mut dossier = hostile();
    dossier.case.as_mut().unwrap().program.text = "```\n````\n# pwned\n".into();
    let text = tracker(&dossier, Tracker::Llvm);
    assert!(
        text.contains("`````c\n```\n````\n# pwned\n`````\n"),
        "{text}"
    );
}

#[test]
fn a_hostile_store_writes_nothing_outside_its_report() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::create(&directory.path().join("store")).unwrap();
    store
        .begin(&Campaign {
            created: Timestamp(i64::MAX),
            candor: ATTACKS[0].into(),
            settings: json!({"compilers": [{"command": 3}, null], "levels": "x"}),
        })
        .unwrap();
    let dossier = hostile();
    for id in ["../../../../tmp/pwned", "<script>", ".", "index.html"] {
        let id = FindingId(id.into());
        store
            .add(&NewFinding {
                id: id.clone(),
                stream: Stream(ATTACKS[1].into()),
                seed: u64::MAX >> 1,
                variant: None,
                kind: ATTACKS[2].into(),
                compiler: ATTACKS[0].into(),
                version: String::new(),
                family: String::new(),
                level: ATTACKS[3].into(),
                signature: Signature(id.0.clone()),
                priority: 0,
                title: ATTACKS[1].into(),
                case: serde_json::to_value(dossier.case.as_ref().unwrap()).unwrap(),
                affected: json!(["not", "a", "map"]),
            })
            .unwrap();
        store
            .improve(
                &id,
                &Improvement {
                    culprit: Some(json!({"suspects": 7})),
                    exhibit: Some(serde_json::to_value(dossier.exhibit.as_ref().unwrap()).unwrap()),
                    ..Improvement::default()
                },
            )
            .unwrap();
    }
    add(&store, "broken", "a case that cannot be read");
    let site = Site::read(&store, false).unwrap();
    let report = directory.path().join("report");
    site.write(&report).unwrap();
    assert_eq!(Overview::read(&store).unwrap().findings.len(), 5);

    let mut names: Vec<String> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["report", "store"]);
    let mut pages: Vec<String> = std::fs::read_dir(report.join("finding"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".html"))
        .collect();
    pages.sort();
    assert_eq!(
        pages,
        [
            "------------tmp-pwned.html",
            "-.html",
            "-script-.html",
            "broken.html",
            "index-html.html"
        ]
    );
    let broken = std::fs::read_to_string(report.join("finding/broken.html")).unwrap();
    assert!(broken.contains("Could not be read: its case:"), "{broken}");
}

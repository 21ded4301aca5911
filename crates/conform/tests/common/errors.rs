//! The errors of the paper's Table 6: which destination shows each in our own input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candor_conform::input::{Selection, from_run_lines, read};
use candor_conform::{
    Class, Confidence, Outcome, Required, Session, Settings, Site, Test, findings,
};
use candor_llvm::attribute::Names;

pub struct Row {
    pub id: u32,
    file: String,
    function: String,
    destination: String,
    required: Required,
    site: String,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conform")
}

pub fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("table6.tsv")).unwrap();
    let rows: Vec<Row> = text
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            Row {
                id: fields[0].parse().unwrap(),
                file: fields[2].to_owned(),
                function: fields[3].to_owned(),
                destination: fields[4].to_owned(),
                required: match fields[5] {
                    "Preserve" => Required::Preserve,
                    "Merge" => Required::Merge,
                    "Drop" => Required::Drop,
                    other => panic!("{other}"),
                },
                site: fields[6].to_owned(),
            }
        })
        .collect();
    assert_eq!(rows.len(), 42);
    rows
}

pub fn tests() -> Vec<Test> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("table6"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| {
            let input = read(file).unwrap();
            let tests = from_run_lines(file, &input, &Selection::All, &Default::default());
            assert_eq!(tests.len(), 1, "{}", file.display());
            tests
        })
        .collect()
}

/// Per error, the site that is reported for the very destination that `row` names.
pub fn reported(
    session: &Session,
    names: &Names,
    settings: &Settings,
) -> BTreeMap<u32, Option<Site>> {
    let tests = tests();
    let mut result = BTreeMap::new();
    for row in rows() {
        let of_row: Vec<Test> = tests
            .iter()
            .filter(|test| test.file.ends_with(&row.file))
            .cloned()
            .collect();
        assert_eq!(of_row.len(), 1, "{}", row.file);
        let outcome = session.judge(0, &of_row[0].run, &|| false).unwrap();
        let Outcome::Judged(mut judgement) = outcome else {
            println!("{}: {outcome}", row.file);
            result.insert(row.id, None);
            continue;
        };
        judgement.updates.retain(|update| {
            update.function == row.function && update.text.contains(&row.destination)
        });
        let outcomes = [Outcome::Judged(judgement)];
        let found = findings(&session.library, names, &of_row, &outcomes, settings);
        let shows = |site: &Site| {
            let name = site.frame.name.as_ref();
            site.confidence > Confidence::Low
                && (site.required == Some(row.required)
                    // A merge of all arms' locations is what upstream does; dropping is as conforming.
                    || row.id == 2 && site.class == Class::ShouldDrop)
                // Another version may have inlined the function.
                && (session.library.version != 16
                    || name.is_some_and(|name| name.plain == row.site))
        };
        result.insert(row.id, found.sites.into_iter().find(shows));
    }
    result
}

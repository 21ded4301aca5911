//! A report written to disk: complete, linked, self-contained.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use candor_report::{Site, source_site};

use crate::real::made;

fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Values of `href` and `src` attributes.
fn links(page: &str) -> BTreeSet<String> {
    ["href=\"", "src=\""]
        .iter()
        .flat_map(|start| page.split(start).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_link_leads_somewhere_and_nothing_leads_outside() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::read(&*made().store, false).unwrap();
    let index = site.write(directory.path()).unwrap();
    let mut pages = 0;
    let mut followed = 0;
    for path in files(directory.path()) {
        assert!(!path.to_string_lossy().ends_with(".part"));
        if path.extension().is_none_or(|end| end != "html") {
            continue;
        }
        pages += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            assert!(!link.contains("://") && !link.starts_with("//"), "{link}");
            let (target, anchor) = match link.split_once('#') {
                Some((target, anchor)) => (target, Some(anchor)),
                None => (link.as_str(), None),
            };
            let target = match target {
                "" => path.clone(),
                target => path.parent().unwrap().join(target),
            };
            assert!(target.is_file(), "{}: {link}", path.display());
            if let Some(anchor) = anchor {
                let there = std::fs::read_to_string(&target).unwrap();
                assert!(there.contains(&format!("id=\"{anchor}\"")), "{link}");
            }
            followed += 1;
        }
    }
    // an overview, and for five unique findings a page; four of them have the program as found besides
    assert!(pages >= 10, "{pages} pages");
    assert!(followed > 60, "{followed} links");
    assert_eq!(index, directory.path().join("index.html"));
    // writing again changes nothing
    let before: Vec<Vec<u8>> = files(directory.path())
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    site.write(directory.path()).unwrap();
    let after: Vec<Vec<u8>> = files(directory.path())
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    assert!(before == after);
}

#[test]
fn the_script_of_a_finding_shows_it_without_candor() {
    let directory = tempfile::tempdir().unwrap();
    let site = Site::read(&*made().store, false).unwrap();
    site.write(directory.path()).unwrap();
    let json = site.json().unwrap();
    let division = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["case"]["program"]["name"] == "counter_by_division.c")
        .unwrap();
    let folder = directory
        .path()
        .join("finding")
        .join(division["id"].as_str().unwrap());
    let output = std::process::Command::new(folder.join("reproduce/reproduce.sh"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let subject = &division["exhibit"]["subject"];
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains(&format!("= {}\n", subject["truth"].as_str().unwrap())),
        "{text}"
    );
    assert!(
        text.contains(&format!("= {}", subject["shown"].as_str().unwrap())),
        "{text}"
    );
}

#[test]
fn a_folder_with_other_things_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("thesis.txt"), "do not lose").unwrap();
    let site = Site::read(&*made().store, false).unwrap();
    let error = site.write(directory.path()).unwrap_err().to_string();
    assert!(error.contains("is not a candor report"), "{error}");
    assert_eq!(files(directory.path()).len(), 1);
}

#[test]
fn a_whole_program_line_by_line() {
    let site = Site::read(&*made().store, false).unwrap();
    let json = site.json().unwrap();
    let views: Vec<candor_check::exhibit::SourceView> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| serde_json::from_value(finding["exhibit"]["whole"].clone()).ok())
        .collect();
    assert!(views.len() >= 3);
    let directory = tempfile::tempdir().unwrap();
    source_site(&views, directory.path()).unwrap();
    let pages = files(directory.path());
    let html = pages
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "html"));
    assert_eq!(html.count(), views.len() + 1);
}

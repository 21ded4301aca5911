//! The pages in a real browser: tests/browser/report.mjs clicks through them with Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use candor_report::{Site, source_site};
use candor_store::SqliteStore;

use crate::hostile;
use crate::real::made;
use crate::served::Served;

#[test]
fn people_can_use_it() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser");
    assert!(
        scripts.join("node_modules/playwright-core").is_dir(),
        "playwright-core is missing: run scripts/install.sh"
    );
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report");
    let site = Site::read(&*made().store, false).unwrap();
    site.write(&report).unwrap();
    let views: Vec<_> = site.json().unwrap()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| serde_json::from_value(finding["exhibit"]["whole"].clone()).ok())
        .collect();
    let source = directory.path().join("source");
    source_site(&views, &source).unwrap();
    let evil = directory.path().join("hostile");
    std::fs::create_dir(&evil).unwrap();
    for (name, page) in hostile::pages() {
        let page = page
            .replace("\"../style.css", "\"style.css")
            .replace("\"../script.js", "\"script.js")
            .replace("\"../icon.svg", "\"icon.svg");
        std::fs::write(evil.join(name), page).unwrap();
    }
    for name in ["style.css", "script.js", "icon.svg"] {
        std::fs::copy(report.join(name), evil.join(name)).unwrap();
    }
    let served = Served::new(made().store.clone());
    // a store that grows while somebody looks: when the script says so, by making a file
    let go = directory.path().join("go");
    let growing = Arc::new(SqliteStore::create(&directory.path().join("growing")).unwrap());
    let grown = Served::new(growing.clone());
    let grower = std::thread::spawn({
        let go = go.clone();
        move || {
            for _ in 0..3000 {
                if go.exists() {
                    return hostile::add(&*growing, "aaaa", "a finding that came later");
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
    });
    // kept for whoever wants to look: CANDOR_SCREENSHOTS=DIR
    let shots = std::env::var_os("CANDOR_SCREENSHOTS")
        .map_or_else(|| directory.path().join("shots"), PathBuf::from);
    let output = Command::new("node")
        .arg(scripts.join("report.mjs"))
        .env("REPORT", &report)
        .env("SOURCE", &source)
        .env("HOSTILE", &evil)
        .env("LIVE", format!("http://{}/", served.address))
        .env("GROWING", format!("http://{}/", grown.address))
        .env("GO", &go)
        .env("SHOTS", &shots)
        .output()
        .unwrap();
    std::fs::write(&go, "").unwrap();
    grower.join().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // a script that ends early has not tested anything
    assert!(text.contains("all steps done"), "{text}");
    let pictures = std::fs::read_dir(&shots).unwrap().count();
    assert!(pictures >= 6, "{pictures} screenshots");
}

//! Every page and file of a report by its path, the same from disk and from the server.
//!
//! ```text
//! index.html                       the overview
//! finding/ID.html                  one finding
//! finding/ID/NAME.c, finding.json  its program and case
//! finding/ID/reproduce/...         files and script that show it without candor
//! source/ID.html                   the program as it was found, by truthfulness
//! report.json                      everything
//! style.css, script.js, icon.svg
//! ```

use std::path::{Path, PathBuf};

use candor_check::exhibit::SourceView;
use candor_predicate::Case;
use candor_store::Store;
use serde_json::{Value, json};

use crate::data::{Dossier, Entry, Overview};
use crate::pages::conform::ConformRun;
use crate::pages::isolate::IsolateRun;
use crate::pages::repair::RepairRun;
use crate::pages::{self, Frame};
use crate::words::file_slug;
use crate::{Error, Tracker, tracker};

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/script.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// A file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its media type.
    pub mime: &'static str,
    /// What it holds.
    pub bytes: Vec<u8>,
}

impl Content {
    fn text(mime: &'static str, text: impl Into<String>) -> Self {
        Content {
            mime,
            bytes: text.into().into_bytes(),
        }
    }

    fn html(text: String) -> Self {
        Self::text("text/html; charset=utf-8", text)
    }

    /// Whatever a program holds is shown as text, never as a page.
    fn plain(text: impl Into<String>) -> Self {
        Self::text("text/plain; charset=utf-8", text)
    }
}

/// A report of a store as it was when this was read.
pub struct Site<'a> {
    store: &'a dyn Store,
    /// What the first page shows.
    pub overview: Overview,
    live: bool,
}

impl<'a> Site<'a> {
    /// Reads the overview; dossiers are read when their pages are asked for. A `live` site is served.
    pub fn read(store: &'a dyn Store, live: bool) -> Result<Self, Error> {
        Ok(Site {
            store,
            overview: Overview::read(store)?,
            live,
        })
    }

    /// The content at `path`, without a leading slash; `None` where there is none.
    pub fn get(&self, path: &str) -> Result<Option<Content>, Error> {
        Ok(Some(match path {
            "" | "index.html" => Content::html(pages::overview::render(&self.overview, self.live)?),
            "style.css" => Content::text("text/css; charset=utf-8", STYLE),
            "script.js" => Content::text("text/javascript; charset=utf-8", SCRIPT),
            "icon.svg" => Content::text("image/svg+xml", ICON),
            "report.json" => Content::text(
                "application/json",
                serde_json::to_string_pretty(&self.json()?)?,
            ),
            path => return self.of_finding(path),
        }))
    }

    fn of_finding(&self, path: &str) -> Result<Option<Content>, Error> {
        let Some((folder, rest)) = path.split_once('/') else {
            return Ok(None);
        };
        let slug = rest
            .strip_suffix(".html")
            .or_else(|| rest.split_once('/').map(|(slug, _)| slug))
            .unwrap_or(rest);
        let Some(entry) = self.entry(slug) else {
            return Ok(None);
        };
        let dossier = Dossier::read(self.store, entry)?;
        let files = self.files(&dossier, folder == "finding")?;
        Ok(files
            .into_iter()
            .find(|(name, _)| name == path)
            .map(|(_, content)| content))
    }

    fn entry(&self, slug: &str) -> Option<&Entry> {
        self.overview
            .findings
            .iter()
            .find(|entry| entry.slug() == slug)
    }

    /// The files of one finding: those below `finding/`, or the one below `source/`.
    fn files(&self, dossier: &Dossier, finding: bool) -> Result<Vec<(String, Content)>, Error> {
        let slug = dossier.entry.slug();
        if !finding {
            let whole = dossier
                .exhibit
                .as_ref()
                .and_then(|exhibit| exhibit.whole.as_ref());
            let Some(view) = whole else {
                return Ok(Vec::new());
            };
            let crumbs = vec![
                (format!("../index.html#f-{slug}"), "findings".to_owned()),
                (format!("../finding/{slug}.html"), dossier.entry.id.clone()),
            ];
            let frame = Frame::of(&self.overview, "../", self.live);
            let page = pages::source::render(view, frame, crumbs)?;
            return Ok(vec![(format!("source/{slug}.html"), Content::html(page))]);
        }
        let page = pages::finding::render(&self.overview, dossier, self.live)?;
        let mut files = vec![(format!("finding/{slug}.html"), Content::html(page))];
        let folder = format!("finding/{slug}");
        if let Some(case) = &dossier.case {
            files.push((
                format!("{folder}/{}", program_file(case)),
                Content::plain(&case.program.text),
            ));
            files.push((
                format!("{folder}/finding.json"),
                Content::text("application/json", case.to_json()),
            ));
        }
        for (name, text) in reproduction(dossier) {
            files.push((format!("{folder}/reproduce/{name}"), Content::plain(text)));
        }
        Ok(files)
    }

    /// Everything, for machines.
    pub fn json(&self) -> Result<Value, Error> {
        let dossiers = Dossier::read_all(self.store, &self.overview)?;
        let mut value = serde_json::to_value(&self.overview)?;
        let mut findings = Vec::new();
        for dossier in &dossiers {
            let mut finding = serde_json::to_value(dossier)?;
            finding["tracker"] = json!(tracker(dossier, Tracker::of(&dossier.entry.family)));
            findings.push(finding);
        }
        value["findings"] = Value::Array(findings);
        Ok(value)
    }

    /// Writes the report into `directory`; gives the path of its first page. A report that is there already is
    /// replaced file by file; anything else is left alone.
    pub fn write(&self, directory: &Path) -> Result<PathBuf, Error> {
        prepare(directory)?;
        for path in ["style.css", "script.js", "icon.svg", "report.json"] {
            if let Some(content) = self.get(path)? {
                put(directory, path, &content.bytes)?;
            }
        }
        let all = self.store.findings()?;
        for entry in &self.overview.findings {
            let dossier = Dossier::among(self.store, entry, &all)?;
            for below in [true, false] {
                for (path, content) in self.files(&dossier, below)? {
                    put(directory, &path, &content.bytes)?;
                    if path.ends_with("/reproduce.sh") {
                        executable(&directory.join(&path))?;
                    }
                }
            }
        }
        // last: a reader who sees it finds everything it links to
        let index = pages::overview::render(&self.overview, self.live)?;
        put(directory, "index.html", index.as_bytes())?;
        Ok(directory.join("index.html"))
    }
}

/// Writes the pages of one checked program, a page per build; gives the path of the first.
pub fn source_site(views: &[SourceView], directory: &Path) -> Result<PathBuf, Error> {
    surroundings(directory)?;
    let json = serde_json::to_string_pretty(&json!({"schema": crate::SCHEMA, "builds": views}))?;
    put(directory, "report.json", json.as_bytes())?;
    let mut listed = Vec::new();
    for (number, view) in views.iter().enumerate() {
        let name = format!(
            "{:02}-{}.html",
            number + 1,
            crate::words::slug(&format!("{}{}", view.build.compiler, view.build.level))
        );
        let crumbs = vec![("index.html".to_owned(), "builds".to_owned())];
        let page = pages::source::render(view, Frame::alone(""), crumbs)?;
        put(directory, &name, page.as_bytes())?;
        listed.push((name, view));
    }
    put(
        directory,
        "index.html",
        pages::source::index(&listed)?.as_bytes(),
    )?;
    Ok(directory.join("index.html"))
}

/// Writes what conform found: a page of all sites and one per site. Gives the first page.
pub fn conform_site(
    run: &ConformRun<'_>,
    sites: &[(&candor_conform::Site, &candor_conform::Detail)],
    directory: &Path,
) -> Result<PathBuf, Error> {
    surroundings(directory)?;
    let mut listed = Vec::new();
    for (number, (site, detail)) in sites.iter().enumerate() {
        let name = format!(
            "{:02}-{}.html",
            number + 1,
            crate::words::slug(&site.place())
        );
        let page = pages::conform::render(site, detail)?;
        put(directory, &name, page.as_bytes())?;
        listed.push((name, *site));
    }
    put(
        directory,
        "index.html",
        pages::conform::index(run, &listed)?.as_bytes(),
    )?;
    Ok(directory.join("index.html"))
}

/// Writes what isolate says of one finding: one page. Gives its place.
pub fn isolate_site(run: &IsolateRun, directory: &Path) -> Result<PathBuf, Error> {
    surroundings(directory)?;
    let page = pages::isolate::render(run)?;
    put(directory, "index.html", page.as_bytes())?;
    Ok(directory.join("index.html"))
}

/// A directory with what all pages use.
fn surroundings(directory: &Path) -> Result<(), Error> {
    prepare(directory)?;
    put(directory, "style.css", STYLE.as_bytes())?;
    put(directory, "script.js", SCRIPT.as_bytes())?;
    put(directory, "icon.svg", ICON.as_bytes())
}

/// Writes what repair gives: a page of all functions and one per function. Gives the first page.
pub fn repair_site(run: &RepairRun, directory: &Path) -> Result<PathBuf, Error> {
    surroundings(directory)?;
    let mut names = Vec::new();
    for (number, function) in run.functions.iter().enumerate() {
        let name = format!(
            "{:02}-{}.html",
            number + 1,
            crate::words::slug(&function.name)
        );
        let page = pages::repair::render(run, function)?;
        put(directory, &name, page.as_bytes())?;
        names.push(name);
    }
    put(
        directory,
        "index.html",
        pages::repair::index(run, &names)?.as_bytes(),
    )?;
    Ok(directory.join("index.html"))
}

/// The name of a case's program in its folder.
pub(crate) fn program_file(case: &Case) -> String {
    file_slug(&case.program.name)
}

/// The files of `reproduce/`: those of the exhibit, and a script.
pub(crate) fn reproduction(dossier: &Dossier) -> Vec<(String, String)> {
    let Some(exhibit) = &dossier.exhibit else {
        return Vec::new();
    };
    let mut files: Vec<(String, String)> = exhibit
        .reproduction
        .files
        .iter()
        .map(|(name, text)| (file_slug(name), text.clone()))
        .collect();
    if !exhibit.reproduction.commands.is_empty() {
        files.push((
            "reproduce.sh".into(),
            format!(
                "#!/bin/sh\nset -ex\ncd \"$(dirname \"$0\")\"\n{}\n",
                exhibit.reproduction.commands.join("\n")
            ),
        ));
    }
    files
}

fn prepare(directory: &Path) -> Result<(), Error> {
    let failed = |source| Error::file("create", directory, source);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let ours = directory.join("report.json").exists();
    let occupied = std::fs::read_dir(directory)
        .map_err(failed)?
        .next()
        .is_some();
    if occupied && !ours {
        return Err(Error::Occupied {
            path: directory.to_owned(),
        });
    }
    Ok(())
}

/// Writes beside and renames: a reader never meets half a page.
fn put(directory: &Path, path: &str, bytes: &[u8]) -> Result<(), Error> {
    let target = directory.join(path);
    let failed = |source| Error::file("write", &target, source);
    let folder = target.parent().unwrap_or(directory);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let name = target
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let temporary = folder.join(format!(".{name}.part"));
    std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, &target))
        .map_err(failed)
}

fn executable(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .map_err(|source| Error::file("make executable", path, source))
}

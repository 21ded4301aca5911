//! Candidates on disk, each with its verdict: `candor isolate` takes those that fail as witnesses.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use candor_predicate::Verdict;

use crate::Error;

/// Writes candidates into a directory.
#[derive(Debug)]
pub struct Keeper {
    directory: PathBuf,
    index: Mutex<std::fs::File>,
}

impl Keeper {
    /// Into `directory`, which is made; `tried.jsonl` in it lists what there is.
    pub fn new(directory: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(directory)
            .map_err(|source| candor_toolchain::Error::file("create", directory, source))?;
        let path = directory.join("tried.jsonl");
        let index = std::fs::File::create(&path)
            .map_err(|source| candor_toolchain::Error::file("create", &path, source))?;
        Ok(Keeper {
            directory: directory.to_owned(),
            index: Mutex::new(index),
        })
    }

    /// Keeps one candidate.
    pub fn keep(&self, number: usize, text: &str, verdict: &Verdict) -> Result<(), Error> {
        let name = format!("{number:06}-{}.c", verdict.name());
        let path = self.directory.join(&name);
        let failed = |source| candor_toolchain::Error::file("write", &path, source);
        std::fs::write(&path, text).map_err(failed)?;
        let line = serde_json::json!({
            "number": number, "file": name, "verdict": verdict.name(), "seen": verdict.words(),
        });
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(index, "{line}").map_err(failed)?;
        Ok(())
    }
}

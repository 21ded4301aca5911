//! What tools answered before. Asking a dozen compilers who they are, and what they support, takes longer than checking a
//! small program; the answers change only when the tool's file does.
//!
//! Kept in the user's cache folder, by the file's path, size and time of change. Only of executables proper: what a script
//! or rustup's proxy answers depends on other files. `candor doctor` forgets everything and asks again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

type Answers = BTreeMap<String, String>;

/// The file, if there is a place for it, and what it holds.
fn store() -> &'static Mutex<(Option<PathBuf>, Answers)> {
    static STORE: OnceLock<Mutex<(Option<PathBuf>, Answers)>> = OnceLock::new();
    STORE.get_or_init(|| {
        let file = file();
        let text = file.as_ref().and_then(|file| std::fs::read(file).ok());
        let answers = text.and_then(|text| serde_json::from_slice(&text).ok());
        Mutex::new((file, answers.unwrap_or_default()))
    })
}

fn file() -> Option<PathBuf> {
    let below = |name, rest: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then(|| folder.join(rest))
    };
    let cache = below("XDG_CACHE_HOME", "").or_else(|| below("HOME", ".cache"))?;
    Some(cache.join(concat!("candor/tools-", env!("CARGO_PKG_VERSION"), ".json")))
}

/// What identifies a tool and a question; `None` where the answer may change though the file does not.
fn key(tool: &Path, question: &str) -> Option<String> {
    let real = tool.canonicalize().ok()?;
    let name = real.file_name()?.to_str()?;
    if ["rustup", "rustc", "cargo"].contains(&name) {
        return None;
    }
    let mut start = [0; 4];
    std::io::Read::read_exact(&mut std::fs::File::open(&real).ok()?, &mut start).ok()?;
    let facts = real.metadata().ok()?;
    let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    (start == *b"\x7fELF").then(|| {
        let (path, size) = (real.display(), facts.len());
        format!("{path} {size} {} {question}", changed.as_nanos())
    })
}

/// What the tool answered before.
pub fn remembered(tool: &Path, question: &str) -> Option<String> {
    let key = key(tool, question)?;
    let store = store().lock().unwrap_or_else(PoisonError::into_inner);
    store.1.get(&key).cloned()
}

/// Keeps an answer. That it cannot be kept is no error.
pub fn remember(tool: &Path, question: &str, answer: &str) {
    let Some(key) = key(tool, question) else {
        return;
    };
    let mut store = store().lock().unwrap_or_else(PoisonError::into_inner);
    let (file, answers) = &mut *store;
    answers.insert(key, answer.to_owned());
    if let Some(file) = file {
        let _ = write(file, answers);
    }
}

/// Forgets all answers.
pub fn forget() {
    let mut store = store().lock().unwrap_or_else(PoisonError::into_inner);
    store.1.clear();
    if let Some(file) = &store.0 {
        let _ = std::fs::remove_file(file);
    }
}

fn write(file: &Path, answers: &Answers) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    std::fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec(answers)?)?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executables_proper_are_remembered() {
        assert!(key(Path::new("/bin/sh"), "who").is_some());
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("cc");
        std::fs::write(&script, "#!/bin/sh\nexec gcc \"$@\"\n").unwrap();
        assert_eq!(key(&script, "who"), None);
        assert_eq!(key(&folder.path().join("missing"), "who"), None);
    }

    #[test]
    fn a_changed_file_is_another_tool() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("cc");
        std::fs::write(&tool, b"\x7fELF one").unwrap();
        let before = key(&tool, "who").unwrap();
        std::fs::write(&tool, b"\x7fELF other").unwrap();
        assert_ne!(key(&tool, "who").unwrap(), before);
    }
}

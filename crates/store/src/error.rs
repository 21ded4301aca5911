//! What can go wrong with a store, in sentences a user can act on.

use std::io;
use std::path::{Path, PathBuf};

/// Errors of the store crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No store at that place.
    #[error("no store in {}: expected {} there; start one with `candor hunt --store {}`", directory.display(), crate::sqlite::FILE, directory.display())]
    Absent {
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The file is damaged or something else altogether.
    #[error("{} is not a readable candor store: {reason}; nothing was changed. Move it away (or restore a copy) and start again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was met.
        reason: String,
    },
    /// Written by a newer candor.
    #[error("{} has schema version {found}, this candor knows versions up to {known}; use the candor that wrote it, or a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The disk is full.
    #[error("no space left on {}: what was stored before is safe; free some space and go on with `candor hunt --resume`", directory.display())]
    NoSpace {
        /// The store's directory.
        directory: PathBuf,
    },
    /// Another process held the store for too long.
    #[error("the store in {} stayed locked by another process for {seconds} s; is a process of it stopped (Ctrl-Z)?", directory.display())]
    Busy {
        /// The store's directory.
        directory: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
    /// The database refused something.
    #[error("the store in {} failed: {reason}", directory.display())]
    Database {
        /// The store's directory.
        directory: PathBuf,
        /// In SQLite's words.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The action, as a verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// An object whose content does not hash to its name, or is gone.
    #[error(
        "the object {hash} of the store is {what}; the file below objects/ was changed or removed"
    )]
    Object {
        /// Its name.
        hash: String,
        /// `missing` or `damaged`.
        what: &'static str,
    },
    /// A row that does not hold what its column promises.
    #[error("the store holds a {what} that cannot be read: {reason}")]
    Unreadable {
        /// Which noun.
        what: &'static str,
        /// What was met.
        reason: String,
    },
    /// A value that a store cannot hold.
    #[error("cannot store {what}: {reason}")]
    Unstorable {
        /// Which noun.
        what: &'static str,
        /// What was met.
        reason: String,
    },
    /// Nothing under that name.
    #[error("no finding `{id}` in this store; `candor report --json` lists them")]
    NoFinding {
        /// As it was given.
        id: String,
    },
    /// Another engine behind the interface failed, in its own words.
    #[error(transparent)]
    Engine(Box<dyn std::error::Error + Send + Sync>),
    /// A short name that fits several findings.
    #[error("`{id}` fits {count} findings; give more digits")]
    Ambiguous {
        /// As it was given.
        id: String,
        /// How many.
        count: usize,
    },
}

impl Error {
    /// A file error, with a full disk told apart. A file-size limit of the process counts as one.
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let full = matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        if full {
            let directory = path.parent().unwrap_or(path).to_owned();
            Error::NoSpace { directory }
        } else {
            Error::File {
                doing,
                path: path.to_owned(),
                source,
            }
        }
    }
}

//! What could not be delivered yet, on disk: one file per parcel, written to a temporary name and renamed.
//!
//! Each process has a folder of its own with a lock that the kernel drops with the process; whoever starts later on this
//! machine delivers what the folders of the dead hold.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use candor_store::{Fact, Hash, WorkerId};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::claims::Entry;

/// One thing on its way to the broker. Delivering it twice changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "parcel", rename_all = "kebab-case")]
pub(crate) enum Parcel {
    /// A content.
    Object {
        /// Its name.
        hash: Hash,
        /// Text as it is; what is not text in hexadecimal.
        text: Option<String>,
        /// See there.
        hex: Option<String>,
    },
    /// A fact for the log.
    Fact(Fact),
    /// A signature that may be new.
    Signature(Box<Entry>),
    /// A signature that this worker has claimed, as it stands now.
    Claimed {
        /// What it should become.
        entry: Box<Entry>,
        /// Who claimed it.
        worker: WorkerId,
        /// At which attempt.
        attempt: u32,
    },
    /// What is left of a seed, for workers with these compilers.
    Rest {
        /// Their set's name.
        set: String,
        /// The message.
        body: String,
        /// The name under which it is sent once.
        id: String,
    },
    /// A lease is done.
    Ack {
        /// Where its message wants to be acknowledged.
        reply: String,
    },
}

impl Parcel {
    pub(crate) fn object(bytes: &[u8]) -> Self {
        let hash = Hash::of(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => Parcel::Object {
                hash,
                text: Some(text.to_owned()),
                hex: None,
            },
            Err(_) => Parcel::Object {
                hash,
                text: None,
                hex: Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            },
        }
    }
}

/// The bytes of an object's parcel.
pub(crate) fn bytes(text: Option<&str>, hex: Option<&str>) -> Option<Vec<u8>> {
    if let Some(text) = text {
        return Some(text.as_bytes().to_vec());
    }
    let digits: Vec<u8> = hex?
        .bytes()
        .map(|byte| {
            char::from(byte)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        })
        .collect::<Option<_>>()?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair.iter().fold(0_u8, |sum, digit| (sum << 4) | digit))
            .collect(),
    )
}

/// A process's folder of parcels, in the order in which they were put.
#[derive(Debug)]
pub(crate) struct Spool {
    directory: PathBuf,
    files: VecDeque<PathBuf>,
    next: u64,
    _lock: Flock<File>,
}

fn failed(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Spool {
        doing,
        path: path.clone(),
        source,
    }
}

/// The lock of a folder; `None` if a living process has it.
fn lock(directory: &Path) -> Result<Option<Flock<File>>, Error> {
    let path = directory.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(failed("open", &path))?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(failed("lock", &path)(errno.into())),
    }
}

/// Only one process at a time makes, takes over or removes folders: between making one and locking it, it looks abandoned.
fn turn(parent: &Path) -> Result<Flock<File>, Error> {
    let folder = File::open(parent).map_err(failed("open", parent))?;
    Flock::lock(folder, FlockArg::LockExclusive)
        .map_err(|(_, errno)| failed("lock", parent)(errno.into()))
}

/// The parcels of a folder, oldest first.
fn parcels(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed("read", directory))? {
        let path = entry.map_err(failed("read", directory))?.path();
        if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Removes an empty folder. One in which something unreadable was put aside stays for a person to look at.
fn abandon(directory: &Path) {
    let rest = std::fs::read_dir(directory).map_or(0, Iterator::count);
    if rest <= 1 {
        let _ = std::fs::remove_file(directory.join("lock"));
        let _ = std::fs::remove_dir(directory);
    }
}

impl Spool {
    /// A new folder below `parent`, which takes over what dead processes left there; how much that is.
    pub(crate) fn open(parent: &Path) -> Result<(Self, usize), Error> {
        std::fs::create_dir_all(parent).map_err(failed("create", parent))?;
        let _turn = turn(parent)?;
        let directory = tempfile::Builder::new()
            .prefix("worker-")
            .tempdir_in(parent)
            .map_err(failed("create a folder in", parent))?
            .keep();
        let mine = lock(&directory)?.ok_or_else(|| Error::Spool {
            doing: "lock",
            path: directory.clone(),
            source: std::io::Error::other("somebody else has it"),
        })?;
        let mut spool = Spool {
            directory,
            files: VecDeque::new(),
            next: 0,
            _lock: mine,
        };
        for entry in std::fs::read_dir(parent).map_err(failed("read", parent))? {
            let other = entry.map_err(failed("read", parent))?.path();
            if other == spool.directory || !other.is_dir() {
                continue;
            }
            let Some(_theirs) = lock(&other)? else {
                continue;
            };
            for file in parcels(&other)? {
                let path = spool.name();
                std::fs::rename(&file, &path).map_err(failed("move", &file))?;
                spool.files.push_back(path);
            }
            abandon(&other);
        }
        let inherited = spool.files.len();
        Ok((spool, inherited))
    }

    fn name(&mut self) -> PathBuf {
        self.next += 1;
        self.directory.join(format!("{:012}.json", self.next))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Keeps a parcel.
    pub(crate) fn push(&mut self, parcel: &Parcel) -> Result<(), Error> {
        let path = self.name();
        let text = serde_json::to_vec(parcel).map_err(|error| Error::Unstorable {
            what: "a parcel",
            reason: error.to_string(),
        })?;
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            file.write_all(&text)?;
            file.as_file().sync_data()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(failed("write to", &self.directory))?;
        self.files.push_back(path);
        Ok(())
    }

    /// The oldest. One that cannot be read is moved aside, never lost.
    pub(crate) fn front(&mut self) -> Result<Option<Parcel>, Error> {
        while let Some(path) = self.files.front() {
            let text = std::fs::read(path).map_err(failed("read", path))?;
            if let Ok(parcel) = serde_json::from_slice(&text) {
                return Ok(Some(parcel));
            }
            let aside = path.with_extension("unreadable");
            std::fs::rename(path, &aside).map_err(failed("move", path))?;
            self.files.pop_front();
        }
        Ok(None)
    }

    /// The oldest is delivered.
    pub(crate) fn pop(&mut self) -> Result<(), Error> {
        if let Some(path) = self.files.pop_front() {
            std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _turn = self.directory.parent().map(turn);
        if self.files.is_empty() {
            abandon(&self.directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Parcel {
        Parcel::Fact(Fact::Noted {
            kind: text.to_owned(),
            body: serde_json::Value::Null,
        })
    }

    #[test]
    fn parcels_outlive_the_process_and_come_out_in_order() {
        let place = tempfile::tempdir().unwrap();
        let (mut first, inherited) = Spool::open(place.path()).unwrap();
        assert_eq!(inherited, 0);
        for text in ["a", "b", "c"] {
            first.push(&note(text)).unwrap();
        }
        // A living process's parcels are its own.
        let (second, inherited) = Spool::open(place.path()).unwrap();
        assert_eq!((inherited, second.len()), (0, 0));
        drop(second);
        first.pop().unwrap();
        drop(first);
        let (mut third, inherited) = Spool::open(place.path()).unwrap();
        assert_eq!(inherited, 2);
        assert_eq!(third.front().unwrap(), Some(note("b")));
        third.pop().unwrap();
        assert_eq!(third.front().unwrap(), Some(note("c")));
        std::fs::write(&third.files[0], "{half").unwrap();
        assert_eq!(third.front().unwrap(), None);
        let aside = std::fs::read_dir(third.directory()).unwrap();
        let aside = aside.filter(|e| {
            e.as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|x| x == "unreadable")
        });
        assert_eq!(aside.count(), 1);
    }

    /// A folder that was made and not locked yet was taken for a dead process's and removed (seen in chaos).
    #[test]
    fn processes_that_start_at_once_keep_their_folders() {
        let place = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..60 {
                        let (mut spool, _) = Spool::open(place.path()).unwrap();
                        spool.push(&note("one")).unwrap();
                        assert_eq!(spool.front().unwrap(), Some(note("one")));
                        spool.pop().unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn contents_survive_the_disk_whatever_they_are() {
        for content in [&b"int main;"[..], &[0xff, 0x00, 0x9c]] {
            let Parcel::Object { hash, text, hex } = Parcel::object(content) else {
                panic!("an object");
            };
            let back = bytes(text.as_deref(), hex.as_deref()).unwrap();
            assert_eq!(Hash::of(&back), hash);
        }
        assert_eq!(bytes(None, Some("zz")), None);
        assert_eq!(bytes(None, None), None);
    }
}

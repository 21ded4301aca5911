//! Scratch directories: where everything candor and its programs write goes, and goes away.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::Error;

/// A directory that is removed, with all in it, when dropped.
#[derive(Debug)]
pub struct Scratch {
    directory: tempfile::TempDir,
}

/// Memory-backed directories below this much free space are left alone.
const ENOUGH_SPACE: u64 = 1 << 30;

impl Scratch {
    /// A new scratch directory in `CANDOR_SCRATCH` if set, else in memory (/dev/shm) when there is
    /// room, else in the system's temporary directory. What candor processes that no longer live
    /// left there is removed first.
    pub fn new() -> Result<Self, Error> {
        let parent = match std::env::var_os("CANDOR_SCRATCH") {
            Some(given) => PathBuf::from(given),
            None => default_parent(),
        };
        Self::below(&parent)
    }

    /// A new scratch directory below `parent`.
    pub fn below(parent: &Path) -> Result<Self, Error> {
        sweep(parent);
        let directory = tempfile::Builder::new()
            .prefix(&prefix(std::process::id()))
            .tempdir_in(parent)
            .map_err(|source| Error::file("create a scratch directory in", parent, source))?;
        Ok(Scratch { directory })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A fresh directory inside, for one job; removed when dropped.
    pub fn job(&self) -> Result<JobDirectory, Error> {
        let directory = tempfile::Builder::new()
            .prefix("job-")
            .tempdir_in(self.path())
            .map_err(|source| Error::file("create a directory in", self.path(), source))?;
        Ok(JobDirectory { directory })
    }
}

/// The directory of one job inside a [`Scratch`].
#[derive(Debug)]
pub struct JobDirectory {
    directory: tempfile::TempDir,
}

impl JobDirectory {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf, Error> {
        let path = self.path().join(name);
        std::fs::write(&path, content).map_err(|source| Error::file("write", &path, source))?;
        Ok(path)
    }
}

fn default_parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let roomy = nix::sys::statvfs::statvfs(memory)
        .is_ok_and(|stat| stat.blocks_available() * stat.fragment_size() >= ENOUGH_SPACE);
    let probe = || tempfile::tempfile_in(memory).is_ok();
    if roomy && probe() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// How names of directories of process `pid` begin. Process numbers mean something in their own PID
/// namespace only, and candor may run inside a sandbox (cvise asks it): the namespace is in the name.
fn prefix(pid: u32) -> String {
    let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino());
    format!("candor-{pid}-{namespace}-")
}

/// Removes the directories of processes of this PID namespace that are gone (a kill -9 leaves its
/// directory behind). Those of other namespaces are left alone: their owners cannot be seen from here.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix("candor-"))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<i32>().ok());
        let ours = |pid: i32| {
            let prefix = u32::try_from(pid).map(prefix);
            prefix.is_ok_and(|prefix| name.to_str().is_some_and(|name| name.starts_with(&prefix)))
        };
        if let Some(pid) = owner.filter(|pid| ours(*pid)) {
            let gone = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None)
                == Err(nix::errno::Errno::ESRCH);
            if gone && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // Another candor may sweep at the same time; losing that race is fine.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_goes_away_with_what_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(parent.path()).unwrap();
        let job = scratch.job().unwrap();
        let file = job.write("a.c", "int x;").unwrap();
        assert!(file.exists());
        drop(job);
        assert!(!file.exists());
        drop(scratch);
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_a_live_ones_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        let named = |name: String| parent.path().join(name);
        let dead = named(prefix(child.id()) + "x");
        // the same number in another PID namespace may well be alive
        let elsewhere = named(format!("candor-{}-1-x", child.id()));
        child.wait().unwrap();
        let live = named(prefix(std::process::id()) + "x");
        let other = named("candor-notes".into());
        for path in [&dead, &live, &other, &elsewhere] {
            std::fs::create_dir(path).unwrap();
        }
        let _scratch = Scratch::below(parent.path()).unwrap();
        assert!(!dead.exists());
        assert!(live.exists() && other.exists() && elsewhere.exists());
    }
}

//! Who lives: each worker holds a lock on a file of its own, which the kernel drops with the process.
//!
//! No time-outs: a worker that was stopped for an hour is alive, one that was killed a millisecond ago is not.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::SqliteStore;
use crate::{Error, Timestamp, Worker, WorkerId};

/// How often old samples are merged.
const MERGE_EVERY_MS: i64 = 3_600_000;

/// The lock files of a store.
#[derive(Debug)]
pub(super) struct Locks {
    directory: PathBuf,
    held: Mutex<BTreeMap<WorkerId, Flock<File>>>,
    merged: AtomicI64,
}

impl Locks {
    pub(super) fn new(store: &Path) -> Self {
        Locks {
            directory: store.join("workers"),
            held: Mutex::default(),
            merged: AtomicI64::new(0),
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<WorkerId, Flock<File>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, worker: WorkerId) -> PathBuf {
        self.directory.join(worker.0.to_string())
    }

    /// Takes the lock of a worker that nobody knows yet.
    fn hold(&self, worker: WorkerId) -> Result<(), Error> {
        std::fs::create_dir_all(&self.directory)
            .map_err(|source| Error::file("create", &self.directory, source))?;
        let path = self.path(worker);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| Error::file("create", &path, source))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| Error::file("lock", &path, errno.into()))?;
        self.held().insert(worker, lock);
        Ok(())
    }

    /// Lets go of it.
    fn release(&self, worker: WorkerId) {
        self.held().remove(&worker);
        // A file that stays behind is removed with the next sweep.
        let _ = std::fs::remove_file(self.path(worker));
    }

    /// Whether nobody holds the worker's lock.
    fn is_dead(&self, worker: WorkerId) -> Result<bool, Error> {
        if self.held().contains_key(&worker) {
            return Ok(false);
        }
        let path = self.path(worker);
        let file = match OpenOptions::new().write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(Error::file("open", &path, error)),
        };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => {
                drop(lock);
                Ok(true)
            }
            Err((_, Errno::EWOULDBLOCK)) => Ok(false),
            Err((_, errno)) => Err(Error::file("lock", &path, errno.into())),
        }
    }
}

impl SqliteStore {
    pub(super) fn join_as(&self, label: &str) -> Result<WorkerId, Error> {
        let now = Timestamp::now().0;
        let worker = self.write(|transaction| {
            // Not alive until the lock is held: nobody may take it for dead in between.
            transaction.execute(
                "INSERT INTO workers (label, joined, seen, alive) VALUES (?, ?, ?, 0)",
                (label, now, now),
            )?;
            Ok(WorkerId(transaction.last_insert_rowid()))
        })?;
        self.locks.hold(worker)?;
        self.sweep()?;
        self.write(|transaction| {
            transaction.execute("UPDATE workers SET alive = 1 WHERE id = ?", [worker.0])?;
            Ok(())
        })?;
        if self.all_workers()?.iter().filter(|one| one.alive).count() == 1 {
            self.objects.clear_temporary()?;
        }
        Ok(worker)
    }

    pub(super) fn beat_of(&self, worker: WorkerId) -> Result<(), Error> {
        self.sweep()?;
        let now = Timestamp::now().0;
        self.write(|transaction| {
            transaction.execute("UPDATE workers SET seen = ? WHERE id = ?", (now, worker.0))?;
            Ok(())
        })?;
        let last = self.locks.merged.swap(now, Ordering::Relaxed);
        if now - last >= MERGE_EVERY_MS {
            self.merge_old_samples(now)?;
        } else {
            self.locks.merged.store(last, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(super) fn leave_as(&self, worker: WorkerId) -> Result<(), Error> {
        self.write(|transaction| {
            // Going in order is no failed attempt.
            transaction.execute(
                "UPDATE seeds SET attempt = attempt - 1 WHERE state = 'leased' AND worker = ?",
                [worker.0],
            )?;
            transaction.execute(
                "UPDATE signatures SET state = 'open', worker = NULL, attempt = attempt - 1
                 WHERE state = 'claimed' AND worker = ?",
                [worker.0],
            )?;
            transaction.execute(
                "UPDATE workers SET alive = 0, seen = ? WHERE id = ?",
                (Timestamp::now().0, worker.0),
            )?;
            Ok(())
        })?;
        self.locks.release(worker);
        Ok(())
    }

    /// Takes note of workers that died.
    fn sweep(&self) -> Result<(), Error> {
        for worker in self.all_workers()? {
            if worker.alive && self.locks.is_dead(worker.id)? {
                self.write(|transaction| {
                    transaction
                        .execute("UPDATE workers SET alive = 0 WHERE id = ?", [worker.id.0])?;
                    Ok(())
                })?;
                self.locks.release(worker.id);
            }
        }
        Ok(())
    }

    pub(super) fn all_workers(&self) -> Result<Vec<Worker>, Error> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT id, label, joined, seen, alive FROM workers ORDER BY id")?
                .query_map([], |row| {
                    Ok(Worker {
                        id: WorkerId(row.get(0)?),
                        label: row.get(1)?,
                        joined: Timestamp(row.get(2)?),
                        seen: Timestamp(row.get(3)?),
                        alive: row.get(4)?,
                    })
                })?
                .collect()
        })
    }
}

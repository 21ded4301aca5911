//! The embedded store: one SQLite file in WAL mode, a folder of objects, a lock file per worker.
//!
//! Every method is one transaction, and every writing transaction is `IMMEDIATE`: it waits for its turn at the
//! beginning and cannot fail half-way for want of a lock. `synchronous=FULL` makes what was stored survive a loss of
//! power too; a hunt commits a few times per second at most.

mod findings;
mod liveness;
mod merge;
mod replay;
mod schema;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior,
};
use serde_json::Value;

use crate::objects::Objects;
use crate::{
    Campaign, Claim, Count, Error, Event, Finding, FindingId, Grant, Group, Hash, Improvement,
    Lease, NewFinding, Outcome, Samples, Seeds, Signature, State, Store, Timestamp, Totals, Wish,
    Worker, WorkerId, document,
};
use liveness::Locks;
pub use merge::Merged;

/// The database's name in the store's directory.
pub(crate) const FILE: &str = "candor.db";
/// How long a transaction waits for another process's.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether there is a store in `directory`.
#[must_use]
pub fn exists(directory: &Path) -> bool {
    directory.join(FILE).is_file()
}

/// A store in a directory.
#[derive(Debug)]
pub struct SqliteStore {
    directory: PathBuf,
    connection: Mutex<Connection>,
    objects: Objects,
    locks: Locks,
    /// Per sequence: below this number none is free, so the search for the next begins here.
    cursors: Mutex<BTreeMap<(String, u64, u64), u64>>,
    /// Sequences of a single seed (files of a corpus) that are finished: nobody need look at them again.
    finished: Mutex<BTreeSet<String>>,
}

impl SqliteStore {
    /// The store in `directory`, which is made if there is none.
    pub fn create(directory: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(directory)
            .map_err(|source| Error::file("create", directory, source))?;
        Self::connect(directory, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// The store in `directory`, which must be there.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        if !exists(directory) {
            return Err(Error::Absent {
                directory: directory.to_owned(),
            });
        }
        Self::connect(directory, OpenFlags::empty())
    }

    fn connect(directory: &Path, more: OpenFlags) -> Result<Self, Error> {
        let path = directory.join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let failed = |error| translate(directory, error);
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        schema::prepare(&mut connection, &path)?;
        let begun = Instant::now();
        // Two processes that start at once both want to switch to WAL; the loser is told at once, not after waiting.
        while let Err(error) = connection.pragma_update(None, "journal_mode", "wal") {
            let busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
            if !busy || begun.elapsed() > PATIENCE {
                return Err(failed(error));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        connection
            .pragma_update(None, "synchronous", "full")
            .map_err(failed)?;
        connection
            .pragma_update(None, "foreign_keys", true)
            .map_err(failed)?;
        Ok(SqliteStore {
            directory: directory.to_owned(),
            connection: Mutex::new(connection),
            objects: Objects::new(directory),
            locks: Locks::new(directory),
            cursors: Mutex::default(),
            finished: Mutex::default(),
        })
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A look at the database.
    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, Error> {
        let connection = self.lock();
        query(&connection).map_err(|error| translate(&self.directory, error))
    }

    /// A change, wholly or not at all.
    fn write<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, Error> {
        let mut connection = self.lock();
        let run = || {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.execute("UPDATE revision SET number = number + 1", [])?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|error| translate(&self.directory, error))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic between two statements rolls its transaction back: the connection stays usable.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// SQLite's words in ours.
fn translate(directory: &Path, error: rusqlite::Error) -> Error {
    let path = || directory.join(FILE);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::NoSpace {
            directory: directory.to_owned(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy {
            directory: directory.to_owned(),
            seconds: PATIENCE.as_secs(),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Corrupt {
            path: path(),
            reason: error.to_string(),
        },
        Some(ErrorCode::CannotOpen) => Error::File {
            doing: "open",
            path: path(),
            source: std::io::Error::other(error.to_string()),
        },
        _ => match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, reason) => Error::Unreadable {
                what: "row",
                reason: reason.to_string(),
            },
            other => Error::Database {
                directory: directory.to_owned(),
                reason: other.to_string(),
            },
        },
    }
}

/// A text column that should hold one of a few words.
fn bad_column(column: usize, text: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        column,
        rusqlite::types::Type::Text,
        format!("`{text}` was not expected there").into(),
    )
}

/// A JSON column.
fn json_column(row: &rusqlite::Row<'_>, column: usize) -> Result<Value, rusqlite::Error> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

impl Store for SqliteStore {
    fn campaign(&self) -> Result<Option<Campaign>, Error> {
        self.read(|connection| {
            connection
                .query_row(
                    "SELECT created, candor, settings FROM campaign",
                    [],
                    campaign,
                )
                .optional()
        })
    }

    fn begin(&self, wanted: &Campaign) -> Result<Campaign, Error> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT OR IGNORE INTO campaign (id, created, candor, settings) VALUES (1, ?, ?, ?)",
                (wanted.created.0, &wanted.candor, wanted.settings.to_string()),
            )?;
            transaction.query_row("SELECT created, candor, settings FROM campaign", [], campaign)
        })
    }

    fn amend(&self, settings: &Value) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.execute("UPDATE campaign SET settings = ?", [settings.to_string()])?;
            Ok(())
        })
    }

    fn join(&self, label: &str) -> Result<WorkerId, Error> {
        self.join_as(label)
    }

    fn beat(&self, worker: WorkerId) -> Result<(), Error> {
        self.beat_of(worker)
    }

    fn leave(&self, worker: WorkerId) -> Result<(), Error> {
        self.leave_as(worker)
    }

    fn workers(&self) -> Result<Vec<Worker>, Error> {
        self.all_workers()
    }

    fn grant(&self, worker: WorkerId, wishes: &[Wish]) -> Result<Grant, Error> {
        for wish in wishes {
            if let Some(lease) = self.lease(worker, wish)? {
                return Ok(Grant::Seed(lease));
            }
        }
        Ok(Grant::Nothing)
    }

    fn advance(&self, lease: &Lease, done: u64, counts: &[Count]) -> Result<(), Error> {
        self.advance_seed(lease, done, counts)
    }

    fn complete(&self, lease: &Lease, outcome: &Outcome, counts: &[Count]) -> Result<(), Error> {
        self.complete_seed(lease, outcome, counts)
    }

    fn seeds(&self) -> Result<Seeds, Error> {
        self.count_seeds()
    }

    fn samples(&self) -> Result<Samples, Error> {
        self.all_samples()
    }

    fn add(&self, finding: &NewFinding) -> Result<bool, Error> {
        self.add_finding(finding)
    }

    fn knows(&self, signature: &Signature) -> Result<bool, Error> {
        self.knows_signature(signature)
    }

    fn improve(&self, id: &FindingId, improvement: &Improvement) -> Result<State, Error> {
        self.improve_finding(id, improvement)
    }

    fn finding(&self, id: &str) -> Result<Finding, Error> {
        self.one_finding(id)
    }

    fn findings(&self) -> Result<Vec<Finding>, Error> {
        self.all_findings()
    }

    fn totals(&self) -> Result<Totals, Error> {
        self.count_findings()
    }

    fn groups(&self) -> Result<Vec<Group>, Error> {
        self.all_groups()
    }

    fn claim(&self, worker: WorkerId) -> Result<Option<Claim>, Error> {
        self.claim_signature(worker)
    }

    fn settle(&self, claim: &Claim, failure: Option<&str>) -> Result<(), Error> {
        self.settle_claim(claim, failure)
    }

    fn put(&self, bytes: &[u8]) -> Result<Hash, Error> {
        self.objects.put(bytes)
    }

    fn get(&self, hash: &Hash) -> Result<Vec<u8>, Error> {
        self.objects.get(hash)
    }

    fn case(&self, hash: &Hash) -> Result<Value, Error> {
        document::get(&self.objects, hash)
    }

    fn note(&self, kind: &str, body: &Value) -> Result<(), Error> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO events (time, kind, body) VALUES (?, ?, ?)",
                (Timestamp::now().0, kind, body.to_string()),
            )?;
            Ok(())
        })
    }

    fn events(&self, after: i64, most: usize) -> Result<Vec<Event>, Error> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT number, time, kind, body FROM events WHERE number > ? ORDER BY number LIMIT ?",
                )?
                .query_map((after, i64::try_from(most).unwrap_or(i64::MAX)), |row| {
                    Ok(Event {
                        number: row.get(0)?,
                        time: Timestamp(row.get(1)?),
                        kind: row.get(2)?,
                        body: json_column(row, 3)?,
                    })
                })?
                .collect()
        })
    }

    fn revision(&self) -> Result<u64, Error> {
        self.read(|connection| {
            connection.query_row("SELECT number FROM revision", [], |row| row.get(0))
        })
    }
}

fn campaign(row: &rusqlite::Row<'_>) -> Result<Campaign, rusqlite::Error> {
    Ok(Campaign {
        created: Timestamp(row.get(0)?),
        candor: row.get(1)?,
        settings: json_column(row, 2)?,
    })
}

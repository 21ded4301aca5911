//! The tables, and how older stores become current ones.
//!
//! Steps are only ever appended: the version in the file is the number of steps it has been through.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::translate;
use crate::Error;

/// Marks our files ("cndr"), so that somebody else's database is not taken for one.
const APPLICATION: i64 = 0x636e_6472;

/// Step n makes version n of version n - 1.
const STEPS: [&str; 3] = [
    // 1: campaign, workers, seeds, counters, findings.
    "CREATE TABLE campaign (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        created INTEGER NOT NULL,
        candor TEXT NOT NULL,
        settings TEXT NOT NULL
    ) STRICT;
    CREATE TABLE workers (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        label TEXT NOT NULL,
        joined INTEGER NOT NULL,
        seen INTEGER NOT NULL,
        alive INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE seeds (
        stream TEXT NOT NULL,
        number INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('leased', 'judged', 'rejected', 'abandoned')),
        worker INTEGER NOT NULL REFERENCES workers (id),
        attempt INTEGER NOT NULL,
        done INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (stream, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX seeds_leased ON seeds (stream, number) WHERE state = 'leased';
    CREATE TABLE samples (
        time INTEGER NOT NULL,
        metric TEXT NOT NULL,
        compiler TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (time, metric, compiler)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE signatures (
        signature TEXT PRIMARY KEY,
        representative TEXT NOT NULL,
        priority INTEGER NOT NULL,
        first INTEGER NOT NULL,
        key TEXT,
        state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'done', 'failed')),
        worker INTEGER REFERENCES workers (id),
        attempt INTEGER NOT NULL,
        failure TEXT
    ) STRICT;
    CREATE TABLE findings (
        id TEXT PRIMARY KEY,
        found INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        stream TEXT NOT NULL,
        seed INTEGER NOT NULL,
        variant INTEGER,
        kind TEXT NOT NULL,
        compiler TEXT NOT NULL,
        version TEXT NOT NULL,
        family TEXT NOT NULL,
        level TEXT NOT NULL,
        signature TEXT NOT NULL REFERENCES signatures (signature),
        state TEXT NOT NULL CHECK (state IN ('found', 'reduced', 'isolated')),
        title TEXT NOT NULL,
        affected TEXT NOT NULL,
        culprit TEXT,
        case_object TEXT NOT NULL,
        reduced_object TEXT,
        exhibit_object TEXT
    ) STRICT;
    CREATE INDEX findings_signature ON findings (signature);",
    // 2: what a live report polls.
    "CREATE TABLE events (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        time INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE revision (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        number INTEGER NOT NULL
    ) STRICT;
    INSERT INTO revision (id, number) VALUES (1, 0);",
    // 3: merging. The name tells copies of one store from two stores; it decides nothing else.
    "CREATE TABLE identity (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        name TEXT NOT NULL
    ) STRICT;
    INSERT INTO identity (id, name) VALUES (1, lower(hex(randomblob(16))));
    CREATE TABLE merged_samples (
        source TEXT NOT NULL,
        time INTEGER NOT NULL,
        metric TEXT NOT NULL,
        compiler TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (source, time, metric, compiler)
    ) STRICT, WITHOUT ROWID;",
];

/// Refuses what is not ours or damaged, and brings what is old up to date, without changing anything before it is sure.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(path);
    let failed = |error| translate(directory, error);
    let corrupt = |reason: String| Error::Corrupt {
        path: path.to_owned(),
        reason,
    };
    let check: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(failed)?;
    if check != "ok" {
        return Err(corrupt(check.replace('\n', " ")));
    }
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if version(connection).map_err(failed)? == known
        && application(connection).map_err(failed)? == APPLICATION
    {
        return Ok(());
    }
    // Looked at again inside: another process may be doing the same.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = version(&transaction).map_err(failed)?;
    let owner = application(&transaction).map_err(failed)?;
    let tables: i64 = transaction
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    if tables > 0 && owner != APPLICATION {
        return Err(corrupt("it is a database of another program".into()));
    }
    if found > known {
        return Err(Error::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    let done = usize::try_from(found).map_err(|_| corrupt(format!("its version is {found}")))?;
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction
        .pragma_update(None, "user_version", known)
        .map_err(failed)?;
    transaction
        .pragma_update(None, "application_id", APPLICATION)
        .map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn application(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.query_row("PRAGMA application_id", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SqliteStore, Store};

    #[test]
    fn a_store_of_version_1_is_brought_up_to_date_with_all_it_holds() {
        let directory = tempfile::tempdir().unwrap();
        let old = Connection::open(directory.path().join(super::super::FILE)).unwrap();
        old.execute_batch(STEPS[0]).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.pragma_update(None, "application_id", APPLICATION)
            .unwrap();
        old.execute_batch(
            "INSERT INTO campaign VALUES (1, 5, '0.0.9', '{\"seed\":7}');
             INSERT INTO workers VALUES (1, 'old', 1, 2, 0);
             INSERT INTO seeds VALUES ('csmith', 3, 'judged', 1, 1, 4, NULL);",
        )
        .unwrap();
        drop(old);
        let store = SqliteStore::open(directory.path()).unwrap();
        assert_eq!(store.campaign().unwrap().unwrap().settings["seed"], 7);
        assert_eq!(store.seeds().unwrap().judged, 1);
        store.note("migrated", &serde_json::json!({})).unwrap();
        assert_eq!(store.events(0, 9).unwrap().len(), 1);
        assert!(store.revision().unwrap() > 0);
    }

    #[test]
    fn a_newer_store_and_another_programs_database_are_refused_untouched() {
        let directory = tempfile::tempdir().unwrap();
        drop(SqliteStore::create(directory.path()).unwrap());
        let path = directory.path().join(super::super::FILE);
        let newer = Connection::open(&path).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
        drop(newer);
        let error = SqliteStore::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("schema version 99"), "{error}");

        let other = tempfile::tempdir().unwrap();
        let path = other.path().join(super::super::FILE);
        let mails = Connection::open(&path).unwrap();
        mails.execute_batch("CREATE TABLE mails (a)").unwrap();
        drop(mails);
        let before = std::fs::read(&path).unwrap();
        let error = SqliteStore::create(other.path()).unwrap_err().to_string();
        assert!(error.contains("database of another program"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

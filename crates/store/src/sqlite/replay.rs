//! Facts of a log as rows: a copy of a campaign that lives elsewhere, to look at.
//!
//! Each fact is taken once by its name; the rest follows the rules by which the embedded store itself works, so a
//! report of the copy is the report of the campaign.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value;

use super::SqliteStore;
use super::work::count_at;
use crate::{Error, Fact, Finding, Hash, Outcome, Timestamp, Told, WorkerId};

impl SqliteStore {
    /// Takes over what was told, all of it or nothing; how much of it was new.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn replay(&self, told: &[Told]) -> Result<usize, Error> {
        self.write(|transaction| {
            transaction.execute_batch(
                "CREATE TEMP TABLE IF NOT EXISTS told (name TEXT PRIMARY KEY) WITHOUT ROWID",
            )?;
            let mut new = 0;
            for one in told {
                // Two workers may have the same label, one after the other.
                let name = match &one.fact {
                    Fact::Joined { .. } => format!("joined/{}", one.number),
                    other => other.name(),
                };
                let fresh = transaction
                    .prepare_cached("INSERT OR IGNORE INTO temp.told VALUES (?)")?
                    .execute([name])?;
                if fresh > 0 {
                    take(transaction, one)?;
                    new += 1;
                }
            }
            Ok(new)
        })
    }
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn take(transaction: &Transaction<'_>, told: &Told) -> Result<(), rusqlite::Error> {
    let time = told.time;
    match &told.fact {
        Fact::Joined { label } => {
            transaction.execute(
                "INSERT OR REPLACE INTO workers (id, label, joined, seen, alive) VALUES (?, ?, ?, ?, 0)",
                (told.number, label, time.0, time.0),
            )?;
        }
        Fact::Advanced {
            worker,
            stream,
            number,
            part,
            done,
            counts,
        } => {
            // Parts of a seed do not share how far they are.
            let done = if part.is_empty() { integer(*done) } else { 0 };
            heard(transaction, *worker, time)?;
            transaction.execute(
                "INSERT INTO seeds (stream, number, state, worker, attempt, done) VALUES (?, ?, 'leased', ?, 1, ?)
                 ON CONFLICT DO UPDATE SET worker = excluded.worker, done = max(done, excluded.done)
                 WHERE state = 'leased'",
                (&stream.0, integer(*number), worker.0, done),
            )?;
            count_at(transaction, time, counts)?;
        }
        Fact::Completed {
            worker,
            stream,
            number,
            whole,
            outcome,
            counts,
            ..
        } => {
            let (state, reason) = match outcome {
                _ if !whole => ("leased", None),
                Outcome::Judged => ("judged", None),
                Outcome::Rejected(reason) => ("rejected", Some(reason)),
            };
            heard(transaction, *worker, time)?;
            transaction.execute(
                "INSERT INTO seeds (stream, number, state, worker, attempt, done, reason) VALUES (?, ?, ?, ?, 1, 0, ?)
                 ON CONFLICT DO UPDATE SET state = excluded.state, worker = excluded.worker, reason = excluded.reason
                 WHERE excluded.state <> 'leased' AND state IN ('leased', 'abandoned')",
                params![stream.0, integer(*number), state, worker.0, reason],
            )?;
            count_at(transaction, time, counts)?;
        }
        Fact::Abandoned { stream, number } => {
            heard(transaction, WorkerId(0), time)?;
            transaction.execute(
                "INSERT INTO seeds (stream, number, state, worker, attempt, done, reason)
                 VALUES (?, ?, 'abandoned', 0, 1, 0, 'its worker died each time')
                 ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason WHERE state = 'leased'",
                (&stream.0, integer(*number)),
            )?;
        }
        Fact::Found { finding, priority } => found(transaction, time, finding, *priority)?,
        Fact::Learnt {
            id,
            reduced,
            key,
            affected,
            exhibit,
            ..
        } => {
            transaction.execute(
                super::findings::IMPROVE,
                (
                    &id.0,
                    time.0,
                    reduced.as_ref().map(Hash::as_str),
                    exhibit.as_ref().map(Hash::as_str),
                    told.culprit.as_ref().map(Value::to_string),
                    affected.as_ref().map(Value::to_string),
                ),
            )?;
            if let Some(key) = key {
                transaction.execute(
                    "UPDATE signatures SET key = ?
                     WHERE signature = (SELECT signature FROM findings WHERE id = ?)",
                    (key, &id.0),
                )?;
            }
        }
        Fact::Settled {
            signature, failure, ..
        } => {
            let state = if failure.is_some() { "failed" } else { "done" };
            transaction.execute(
                "UPDATE signatures SET state = ?, failure = ? WHERE signature = ? AND state <> 'done'",
                (state, failure, &signature.0),
            )?;
        }
        Fact::Noted { kind, body } => {
            transaction.execute(
                "INSERT INTO events (time, kind, body) VALUES (?, ?, ?)",
                (time.0, kind, body.to_string()),
            )?;
        }
    }
    Ok(())
}

/// The worker was heard of. One whose joining the log no longer has is there without a name.
fn heard(
    transaction: &Transaction<'_>,
    worker: WorkerId,
    time: Timestamp,
) -> Result<(), rusqlite::Error> {
    transaction
        .prepare_cached(
            "INSERT INTO workers (id, label, joined, seen, alive) VALUES (?1, 'unknown', ?2, ?2, 0)
             ON CONFLICT DO UPDATE SET seen = max(seen, excluded.seen)",
        )?
        .execute((worker.0, time.0))?;
    Ok(())
}

fn found(
    transaction: &Transaction<'_>,
    time: Timestamp,
    new: &Finding,
    priority: i64,
) -> Result<(), rusqlite::Error> {
    let known: Option<i64> = transaction
        .query_row("SELECT 1 FROM findings WHERE id = ?", [&new.id.0], |row| {
            row.get(0)
        })
        .optional()?;
    if known.is_some() {
        return Ok(());
    }
    transaction.execute(
        "INSERT INTO signatures (signature, representative, priority, first, state, attempt)
         VALUES (?, ?, ?, ?, 'open', 0) ON CONFLICT DO NOTHING",
        (&new.signature.0, &new.id.0, priority, time.0),
    )?;
    transaction.execute(
        "INSERT INTO findings (id, found, changed, stream, seed, variant, kind, compiler, version, family,
                               level, signature, state, title, affected, case_object)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'found', ?, ?, ?)",
        params![
            new.id.0,
            time.0,
            time.0,
            new.stream.0,
            integer(new.seed),
            new.variant.map(integer),
            new.kind,
            new.compiler,
            new.version,
            new.family,
            new.level,
            new.signature.0,
            new.title,
            new.affected.to_string(),
            new.case.as_str(),
        ],
    )?;
    Ok(())
}

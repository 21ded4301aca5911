//! Several stores into one: the parts of a job array (`--shard`) become a campaign as if one hunt had done it all.
//!
//! Everything has a name under which it is the same wherever it was stored: a seed by its sequence and number, a
//! finding by its id, a signature by itself, a content by its hash, counters by the store they were counted in. So
//! merging twice, in another order, or again after a part went on, gives the same store.

use std::path::Path;

use rusqlite::{Connection, Transaction};

use super::{FILE, SqliteStore, translate};
use crate::Error;

/// What one part added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Seeds that were not known to be finished before.
    pub seeds: u64,
    /// Findings that were not stored before.
    pub findings: u64,
    /// Signatures that no part had before.
    pub signatures: u64,
}

/// One statement per noun; `main` is the store that grows, `part` the one it takes from. Workers come first because
/// seeds name them, signatures before findings for the same reason.
const STEPS: [&str; 8] = [
    // A part's workers do not work here.
    "INSERT INTO main.workers (label, joined, seen, alive)
     SELECT label, joined, seen, 0 FROM part.workers AS theirs WHERE NOT EXISTS (
        SELECT 1 FROM main.workers AS ours WHERE ours.label = theirs.label AND ours.joined = theirs.joined)
     ORDER BY id",
    // What is finished stays finished; what a part has under way is left to it.
    "INSERT INTO main.seeds (stream, number, state, worker, attempt, done, reason)
     SELECT s.stream, s.number, s.state, min(ours.id), s.attempt, s.done, s.reason
     FROM part.seeds s JOIN part.workers theirs ON theirs.id = s.worker
        JOIN main.workers ours ON ours.label = theirs.label AND ours.joined = theirs.joined
     WHERE s.state <> 'leased' GROUP BY s.stream, s.number
     ON CONFLICT DO UPDATE SET state = excluded.state, worker = excluded.worker, attempt = excluded.attempt,
        done = excluded.done, reason = excluded.reason
     WHERE seeds.state = 'leased' OR (seeds.state = 'abandoned' AND excluded.state <> 'abandoned')",
    // The furthest known decides: done, then failed, then what waits; among equals the one found first.
    "INSERT INTO main.signatures (signature, representative, priority, first, key, state, attempt, failure)
     SELECT signature, representative, priority, first, key,
        CASE state WHEN 'claimed' THEN 'open' ELSE state END, attempt, failure FROM part.signatures WHERE true
     ON CONFLICT DO UPDATE SET representative = excluded.representative, priority = excluded.priority,
        first = excluded.first, key = excluded.key, state = excluded.state, attempt = excluded.attempt,
        failure = excluded.failure, worker = NULL
     WHERE (excluded.key IS NOT NULL, excluded.state = 'done', excluded.state = 'failed', -excluded.first,
            excluded.representative)
         > (signatures.key IS NOT NULL, signatures.state = 'done', signatures.state = 'failed', -signatures.first,
            signatures.representative)",
    "INSERT INTO main.findings SELECT * FROM part.findings WHERE true
     ON CONFLICT DO UPDATE SET found = min(found, excluded.found), changed = excluded.changed,
        state = excluded.state, affected = excluded.affected, culprit = excluded.culprit,
        reduced_object = excluded.reduced_object, exhibit_object = excluded.exhibit_object
     WHERE (excluded.state = 'isolated', excluded.state = 'reduced', -excluded.changed)
         > (findings.state = 'isolated', findings.state = 'reduced', -findings.changed)",
    "INSERT INTO main.events (time, kind, body)
     SELECT time, kind, body FROM part.events AS theirs WHERE NOT EXISTS (
        SELECT 1 FROM main.events AS ours
        WHERE ours.time = theirs.time AND ours.kind = theirs.kind AND ours.body = theirs.body)
     ORDER BY number",
    // Counters by the store they were counted in. A copy of a part counts less than the part itself: the larger wins.
    "CREATE TEMP TABLE incoming AS
     SELECT (SELECT name FROM part.identity) AS source, time, metric, compiler, count FROM part.samples
     UNION ALL SELECT source, time, metric, compiler, count FROM part.merged_samples
        WHERE source <> (SELECT name FROM main.identity)",
    "DELETE FROM main.merged_samples WHERE source IN (
        SELECT source FROM temp.incoming AS i GROUP BY source HAVING sum(count) >= (
            SELECT coalesce(sum(count), 0) FROM main.merged_samples AS m WHERE m.source = i.source))",
    "INSERT INTO main.merged_samples SELECT source, time, metric, compiler, count FROM temp.incoming AS i
     WHERE i.source NOT IN (SELECT source FROM main.merged_samples)",
];

impl SqliteStore {
    /// Takes over what `part` holds, wholly or not at all. The campaign's settings are the caller's business.
    ///
    /// # Errors
    /// When either store cannot be read or written, or `part` is this store itself.
    pub fn merge(&self, part: &SqliteStore) -> Result<Merged, Error> {
        let same = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if same(&self.directory) == same(&part.directory) {
            return Err(Error::Unstorable {
                what: "a store in itself",
                reason: format!("{} is both part and whole", part.directory.display()),
            });
        }
        // Content first: a row never points at nothing.
        for hash in part.objects.all()? {
            self.objects.put(&part.objects.get(&hash)?)?;
        }
        let path = part.directory.join(FILE);
        let failed = |error| translate(&self.directory, error);
        let mut connection = self.lock();
        connection
            .execute("ATTACH DATABASE ? AS part", [path.to_string_lossy()])
            .map_err(failed)?;
        let merged = Self::merge_attached(&mut connection);
        let detached = connection.execute_batch("DETACH DATABASE part");
        let merged = merged.map_err(failed)?;
        detached.map_err(failed)?;
        Ok(merged)
    }

    fn merge_attached(connection: &mut Connection) -> Result<Merged, rusqlite::Error> {
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let before = census(&transaction)?;
        for step in STEPS {
            transaction.execute(step, [])?;
        }
        transaction.execute("DROP TABLE temp.incoming", [])?;
        transaction.execute("UPDATE main.revision SET number = number + 1", [])?;
        let after = census(&transaction)?;
        transaction.commit()?;
        Ok(Merged {
            seeds: after.seeds - before.seeds,
            findings: after.findings - before.findings,
            signatures: after.signatures - before.signatures,
        })
    }
}

fn census(transaction: &Transaction<'_>) -> Result<Merged, rusqlite::Error> {
    transaction.query_row(
        "SELECT (SELECT count(*) FROM main.seeds WHERE state <> 'leased'),
                (SELECT count(*) FROM main.findings), (SELECT count(*) FROM main.signatures)",
        [],
        |row| {
            Ok(Merged {
                seeds: row.get(0)?,
                findings: row.get(1)?,
                signatures: row.get(2)?,
            })
        },
    )
}

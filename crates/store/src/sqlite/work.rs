//! Seeds and counters: leases, what became of them, what it took.

use rusqlite::{OptionalExtension, Transaction};
use std::sync::PoisonError;

use super::{SqliteStore, bad_column};
use crate::{
    Count, Error, Lease, Metric, Outcome, Sample, Samples, Seeds, Timestamp, Wish, WorkerId,
};

/// A seed that so many workers died over waits until there is no other.
const PATIENT_ATTEMPTS: u32 = 3;
/// One that so many died over is given up: machines are switched off now and then, but not that often.
const MOST_ATTEMPTS: u32 = 30;
/// Samples are taken in intervals of this length.
const INTERVAL_S: i64 = 10;
/// Old ones are merged into intervals of this length.
const OLD_INTERVAL_S: i64 = 600;
/// Samples older than this are old.
const OLD_S: i64 = 86_400;

impl SqliteStore {
    /// The next seed of `wish`: first those whose worker died, then the lowest that nobody had.
    pub fn lease(&self, worker: WorkerId, wish: &Wish) -> Result<Option<Lease>, Error> {
        let number = |number: u64| {
            i64::try_from(number).map_err(|_| Error::Unstorable {
                what: "a seed",
                reason: format!("{number} is above {}", i64::MAX),
            })
        };
        let first = number(wish.first)?;
        let step = number(wish.step.max(1))?;
        let end = wish.end.map_or(Ok(i64::MAX), number)?;
        let place = (wish.stream.0.clone(), wish.first, wish.step);
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        let cursor = match cursors.get(&place) {
            Some(cursor) => number(*cursor)?,
            None => first,
        };
        let range = Range {
            stream: &wish.stream.0,
            first,
            step,
            end,
        };
        // Corpora are sequences of one each; a long one that is done should not cost a write per file.
        if end == first.saturating_add(1) && self.is_taken(range.stream, first)? {
            return Ok(None);
        }
        let leased = self.write(|transaction| {
            let take = |(number, attempts, done): (i64, u32, u64)| {
                transaction.execute(
                    "UPDATE seeds SET worker = ?, attempt = ? WHERE stream = ? AND number = ?",
                    (worker.0, attempts + 1, range.stream, number),
                )?;
                Ok(Some((number, attempts + 1, done)))
            };
            if let Some(orphan) = range.orphan(transaction, PATIENT_ATTEMPTS)? {
                return take(orphan);
            }
            if let Some(number) = range.free(transaction, cursor)? {
                transaction.execute(
                    "INSERT INTO seeds (stream, number, state, worker, attempt) VALUES (?, ?, 'leased', ?, 1)",
                    (range.stream, number, worker.0),
                )?;
                return Ok(Some((number, 1, 0)));
            }
            range.give_up(transaction)?;
            match range.orphan(transaction, MOST_ATTEMPTS)? {
                Some(orphan) => take(orphan),
                None => Ok(None),
            }
        })?;
        Ok(leased.map(|(number, attempt, done)| {
            let number = u64::try_from(number).unwrap_or(0);
            // A lease above the cursor that is no orphan: all before it are taken.
            if attempt == 1 {
                let next = number.saturating_add(wish.step.max(1));
                let known = cursors.entry(place).or_insert(wish.first);
                *known = next.max(*known);
            }
            Lease {
                stream: wish.stream.clone(),
                number,
                worker,
                attempt,
                done,
                file: wish.file.clone(),
                compilers: None,
            }
        }))
    }

    /// Whether the only seed of a sequence is finished, or somebody who lives has it.
    fn is_taken(&self, stream: &str, number: i64) -> Result<bool, Error> {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if finished.contains(stream) {
            return Ok(true);
        }
        let state: Option<(String, bool)> = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT state, alive FROM seeds JOIN workers ON workers.id = seeds.worker
                     WHERE stream = ? AND number = ?",
                )?
                .query_row((stream, number), |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })?;
        Ok(match state {
            None => false,
            Some((state, alive)) if state == "leased" => alive,
            Some(_) => {
                finished.insert(stream.to_owned());
                true
            }
        })
    }

    pub(super) fn complete_seed(
        &self,
        lease: &Lease,
        outcome: &Outcome,
        counts: &[Count],
    ) -> Result<(), Error> {
        let (state, reason) = match outcome {
            Outcome::Judged => ("judged", None),
            Outcome::Rejected(reason) => ("rejected", Some(reason)),
        };
        let number = i64::try_from(lease.number).unwrap_or(i64::MAX);
        self.write(|transaction| {
            let changed = transaction.execute(
                "UPDATE seeds SET state = ?, reason = ?
                 WHERE stream = ? AND number = ? AND state = 'leased' AND worker = ? AND attempt = ?",
                (state, reason, &lease.stream.0, number, lease.worker.0, lease.attempt),
            )?;
            // Completed before, or another's by now: its counts are its own.
            if changed > 0 {
                count(transaction, counts)?;
            }
            Ok(())
        })
    }

    pub(super) fn advance_seed(
        &self,
        lease: &Lease,
        done: u64,
        counts: &[Count],
    ) -> Result<(), Error> {
        let integer = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (number, done) = (integer(lease.number), integer(done));
        self.write(|transaction| {
            let changed = transaction.execute(
                "UPDATE seeds SET done = ?1 WHERE stream = ?2 AND number = ?3 AND state = 'leased'
                     AND worker = ?4 AND attempt = ?5 AND done < ?1",
                (done, &lease.stream.0, number, lease.worker.0, lease.attempt),
            )?;
            if changed > 0 {
                count(transaction, counts)?;
            }
            Ok(())
        })
    }

    pub(super) fn count_seeds(&self) -> Result<Seeds, Error> {
        self.read(|connection| {
            let mut seeds = Seeds::default();
            let mut query =
                connection.prepare_cached("SELECT state, count(*) FROM seeds GROUP BY state")?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let state: String = row.get(0)?;
                let count: u64 = row.get(1)?;
                match state.as_str() {
                    "judged" => seeds.judged = count,
                    "rejected" => seeds.rejected = count,
                    "leased" => seeds.leased = count,
                    "abandoned" => seeds.abandoned = count,
                    other => return Err(bad_column(0, other)),
                }
            }
            Ok(seeds)
        })
    }

    pub(super) fn all_samples(&self) -> Result<Samples, Error> {
        self.read(|connection| {
            let span: i64 = connection.query_row(
                "SELECT coalesce(max(time) - min(time), 0)
                 FROM (SELECT time FROM samples UNION ALL SELECT time FROM merged_samples)",
                [],
                |row| row.get(0),
            )?;
            // What is older than a day is not known finer than this.
            let interval = if span <= OLD_S {
                INTERVAL_S
            } else {
                // A plot has some hundreds of points.
                (span / 400 / OLD_INTERVAL_S + 1) * OLD_INTERVAL_S
            };
            let samples = connection
                .prepare_cached(
                    "SELECT time / ?1 * ?1 AS begin, metric, compiler, sum(count) FROM (
                        SELECT time, metric, compiler, count FROM samples
                        UNION ALL SELECT time, metric, compiler, count FROM merged_samples)
                     GROUP BY begin, metric, compiler ORDER BY begin, metric, compiler",
                )?
                .query_map([interval], |row| {
                    let metric: String = row.get(1)?;
                    Ok(Sample {
                        time: Timestamp(row.get::<_, i64>(0)?.saturating_mul(1000)),
                        metric: Metric::parse(&metric).ok_or_else(|| bad_column(1, &metric))?,
                        compiler: row.get(2)?,
                        count: row.get(3)?,
                    })
                })?
                .collect::<Result<Vec<_>, _>>()?;
            Ok(Samples {
                interval: u64::try_from(interval).unwrap_or(0),
                samples,
            })
        })
    }

    /// A campaign of months keeps its samples of the last day in detail, and the rest in ten-minute steps.
    pub(super) fn merge_old_samples(&self, now_ms: i64) -> Result<(), Error> {
        let before = (now_ms / 1000 - OLD_S) / OLD_INTERVAL_S * OLD_INTERVAL_S;
        self.write(|transaction| {
            transaction.execute(
                "CREATE TEMP TABLE merged AS
                 SELECT time / ?1 * ?1 AS time, metric, compiler, sum(count) AS count FROM samples
                 WHERE time < ?2 GROUP BY 1, 2, 3",
                (OLD_INTERVAL_S, before),
            )?;
            transaction.execute("DELETE FROM samples WHERE time < ?", [before])?;
            transaction.execute(
                "INSERT INTO samples SELECT time, metric, compiler, count FROM merged",
                [],
            )?;
            transaction.execute("DROP TABLE merged", [])?;
            Ok(())
        })
    }
}

/// Adds to the counters of the present interval.
fn count(transaction: &Transaction<'_>, counts: &[Count]) -> Result<(), rusqlite::Error> {
    count_at(transaction, Timestamp::now(), counts)
}

/// Adds to the counters of the interval of `time`.
pub(super) fn count_at(
    transaction: &Transaction<'_>,
    time: Timestamp,
    counts: &[Count],
) -> Result<(), rusqlite::Error> {
    let time = time.0 / 1000 / INTERVAL_S * INTERVAL_S;
    let mut add = transaction.prepare_cached(
        "INSERT INTO samples (time, metric, compiler, count) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET count = count + excluded.count",
    )?;
    for count in counts.iter().filter(|count| count.more > 0) {
        let more = i64::try_from(count.more).unwrap_or(i64::MAX);
        add.execute((time, count.metric.name(), &count.compiler, more))?;
    }
    Ok(())
}

/// The seeds of a wish, in SQLite's integers.
struct Range<'a> {
    stream: &'a str,
    first: i64,
    step: i64,
    end: i64,
}

impl Range<'_> {
    /// The lowest seed whose worker died, with the attempts made (fewer than `most`) and how far it was judged.
    fn orphan(
        &self,
        transaction: &Transaction<'_>,
        most: u32,
    ) -> Result<Option<(i64, u32, u64)>, rusqlite::Error> {
        transaction
            .prepare_cached(
                "SELECT number, attempt, done FROM seeds JOIN workers ON workers.id = seeds.worker
                 WHERE stream = ?1 AND state = 'leased' AND NOT alive
                   AND number >= ?2 AND (number - ?2) % ?3 = 0 AND number < ?4 AND attempt < ?5
                 ORDER BY number LIMIT 1",
            )?
            .query_row(
                (self.stream, self.first, self.step, self.end, most),
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()
    }

    /// Gives up the seeds that too many workers died over.
    fn give_up(&self, transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
        transaction.execute(
            "UPDATE seeds SET state = 'abandoned', reason = 'its worker died each time'
             WHERE stream = ? AND state = 'leased' AND attempt >= ?
               AND worker IN (SELECT id FROM workers WHERE NOT alive)",
            (self.stream, MOST_ATTEMPTS),
        )?;
        Ok(())
    }

    /// The lowest seed from `cursor` on that nobody ever had.
    fn free(
        &self,
        transaction: &Transaction<'_>,
        cursor: i64,
    ) -> Result<Option<i64>, rusqlite::Error> {
        let mut candidate = cursor;
        let mut known = transaction.prepare_cached(
            "SELECT number FROM seeds WHERE stream = ?1 AND number >= ?2 AND (number - ?2) % ?3 = 0
             ORDER BY number",
        )?;
        let mut rows = known.query((self.stream, cursor, self.step))?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            if number != candidate {
                break;
            }
            candidate = candidate.saturating_add(self.step);
        }
        Ok((candidate < self.end).then_some(candidate))
    }
}

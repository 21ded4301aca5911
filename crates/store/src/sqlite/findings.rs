//! Findings, signatures, claims.

use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use super::{SqliteStore, bad_column, json_column};
use crate::{
    Claim, Error, Finding, FindingId, Group, Hash, Improvement, NewFinding, Signature, State,
    Stream, Timestamp, Totals, WorkerId, document,
};

/// A signature that so many workers died over waits until there is no other.
const PATIENT_ATTEMPTS: u32 = 3;
/// One that so many died over is left as it is.
const MOST_ATTEMPTS: u32 = 30;

/// The columns of a finding, in the order [`finding`] reads them.
const COLUMNS: &str = "f.id, f.found, f.changed, f.stream, f.seed, f.variant, f.kind, f.compiler, f.version, f.family, \
     f.level, f.signature, coalesce(s.key, s.signature), f.state, f.title, f.affected, f.culprit, \
     f.case_object, f.reduced_object, f.exhibit_object";
/// Where they come from.
const SOURCE: &str = "findings f JOIN signatures s ON s.signature = f.signature";

fn finding(row: &Row<'_>) -> Result<Finding, rusqlite::Error> {
    let hash = |column: usize| -> Result<Option<Hash>, rusqlite::Error> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| Hash::parse(&text).ok_or_else(|| bad_column(column, &text)))
            .transpose()
    };
    let state: String = row.get(13)?;
    let culprit: Option<String> = row.get(16)?;
    Ok(Finding {
        id: FindingId(row.get(0)?),
        found: Timestamp(row.get(1)?),
        changed: Timestamp(row.get(2)?),
        stream: Stream(row.get(3)?),
        seed: row.get(4)?,
        variant: row.get(5)?,
        kind: row.get(6)?,
        compiler: row.get(7)?,
        version: row.get(8)?,
        family: row.get(9)?,
        level: row.get(10)?,
        signature: Signature(row.get(11)?),
        key: row.get(12)?,
        state: State::parse(&state).ok_or_else(|| bad_column(13, &state))?,
        title: row.get(14)?,
        affected: json_column(row, 15)?,
        culprit: culprit.map(|_| json_column(row, 16)).transpose()?,
        case: hash(17)?.ok_or_else(|| bad_column(17, ""))?,
        reduced: hash(18)?,
        exhibit: hash(19)?,
    })
}

/// What was learnt of a finding: its id, the time, reduced case, exhibit, culprit, affected releases. What is not given stays.
pub(super) const IMPROVE: &str = "UPDATE findings SET
        changed = ?2,
        reduced_object = coalesce(?3, reduced_object),
        exhibit_object = coalesce(?4, exhibit_object),
        culprit = coalesce(?5, culprit),
        affected = coalesce(?6, affected),
        state = CASE
            WHEN coalesce(?5, culprit) IS NOT NULL THEN 'isolated'
            WHEN coalesce(?3, reduced_object) IS NOT NULL THEN 'reduced'
            ELSE state END
     WHERE id = ?1";

impl SqliteStore {
    pub(super) fn add_finding(&self, new: &NewFinding) -> Result<bool, Error> {
        // The content first: a row never points at nothing.
        let case = document::put(&self.objects, &new.case)?;
        let now = Timestamp::now().0;
        let integer = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.write(|transaction| {
            let known: Option<i64> = transaction
                .query_row("SELECT 1 FROM findings WHERE id = ?", [&new.id.0], |row| row.get(0))
                .optional()?;
            if known.is_some() {
                return Ok(false);
            }
            transaction.execute(
                "INSERT INTO signatures (signature, representative, priority, first, state, attempt)
                 VALUES (?, ?, ?, ?, 'open', 0) ON CONFLICT DO NOTHING",
                (&new.signature.0, &new.id.0, new.priority, now),
            )?;
            transaction.execute(
                "INSERT INTO findings (id, found, changed, stream, seed, variant, kind, compiler, version, family,
                                       level, signature, state, title, affected, case_object)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'found', ?, ?, ?)",
                rusqlite::params![
                    new.id.0,
                    now,
                    now,
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
                    case.as_str(),
                ],
            )?;
            Ok(true)
        })
    }

    pub(super) fn knows_signature(&self, signature: &Signature) -> Result<bool, Error> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT 1 FROM signatures WHERE signature = ?")?
                .exists([&signature.0])
        })
    }

    pub(super) fn improve_finding(
        &self,
        id: &FindingId,
        improvement: &Improvement,
    ) -> Result<State, Error> {
        let put = |document: &Option<Value>| -> Result<Option<Hash>, Error> {
            match document {
                Some(document) => document::put(&self.objects, document).map(Some),
                None => Ok(None),
            }
        };
        let reduced = put(&improvement.reduced)?;
        let exhibit = put(&improvement.exhibit)?;
        let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        let state = self.write(|transaction| {
            let changed = transaction.execute(
                IMPROVE,
                (
                    &id.0,
                    Timestamp::now().0,
                    reduced.as_ref().map(Hash::as_str),
                    exhibit.as_ref().map(Hash::as_str),
                    text(&improvement.culprit),
                    text(&improvement.affected),
                ),
            )?;
            if changed == 0 {
                return Ok(None);
            }
            if let Some(key) = &improvement.key {
                transaction.execute(
                    "UPDATE signatures SET key = ?
                     WHERE signature = (SELECT signature FROM findings WHERE id = ?)",
                    (key, &id.0),
                )?;
            }
            transaction
                .query_row("SELECT state FROM findings WHERE id = ?", [&id.0], |row| {
                    let state: String = row.get(0)?;
                    State::parse(&state).ok_or_else(|| bad_column(0, &state))
                })
                .optional()
        })?;
        state.ok_or_else(|| Error::NoFinding { id: id.0.clone() })
    }

    pub(super) fn one_finding(&self, id: &str) -> Result<Finding, Error> {
        let mut found = self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM {SOURCE} WHERE substr(f.id, 1, length(?1)) = ?1
                     ORDER BY f.id LIMIT 99"
                ))?
                .query_map([id], finding)?
                .collect::<Result<Vec<_>, _>>()
        })?;
        // A whole id names one finding, whatever else begins with it; the shortest comes first.
        let whole = found.first().is_some_and(|one| one.id.0 == id);
        if whole {
            found.truncate(1);
        }
        match (found.len(), found.pop()) {
            (1, Some(one)) if !id.is_empty() => Ok(one),
            (0, _) => Err(Error::NoFinding { id: id.to_owned() }),
            (count, _) => Err(Error::Ambiguous {
                id: id.to_owned(),
                count,
            }),
        }
    }

    pub(super) fn all_findings(&self) -> Result<Vec<Finding>, Error> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM {SOURCE} ORDER BY f.found, f.id"
                ))?
                .query_map([], finding)?
                .collect()
        })
    }

    pub(super) fn all_groups(&self) -> Result<Vec<Group>, Error> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "WITH ranked AS (
                        SELECT f.id AS id, coalesce(s.key, s.signature) AS key,
                            row_number() OVER (
                                PARTITION BY coalesce(s.key, s.signature)
                                ORDER BY f.state = 'isolated' DESC, f.state = 'reduced' DESC, f.found, f.id
                            ) AS place
                        FROM {SOURCE}
                     ), totals AS (
                        SELECT coalesce(s.key, s.signature) AS key, count(*) AS findings,
                            count(DISTINCT s.signature) AS signatures, max(f.found) AS latest
                        FROM {SOURCE} GROUP BY 1
                     )
                     SELECT {COLUMNS}, t.findings, t.signatures, t.latest
                     FROM {SOURCE} JOIN ranked r ON r.id = f.id AND r.place = 1 JOIN totals t ON t.key = r.key
                     ORDER BY f.state = 'isolated' DESC, f.state = 'reduced' DESC, f.found, f.id"
                ))?
                .query_map([], |row| {
                    let representative = finding(row)?;
                    Ok(Group {
                        key: representative.key.clone(),
                        representative,
                        findings: row.get(20)?,
                        signatures: row.get(21)?,
                        latest: Timestamp(row.get(22)?),
                    })
                })?
                .collect()
        })
    }

    pub(super) fn count_findings(&self) -> Result<Totals, Error> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT (SELECT count(*) FROM findings),
                            count(DISTINCT coalesce(key, signature)), count(DISTINCT key),
                            count(CASE WHEN state IN ('open', 'claimed') THEN 1 END) FROM signatures",
                )?
                .query_row([], |row| {
                    Ok(Totals {
                        findings: row.get(0)?,
                        unique: row.get(1)?,
                        isolated: row.get(2)?,
                        waiting: row.get(3)?,
                    })
                })
        })
    }

    pub(super) fn claim_signature(&self, worker: WorkerId) -> Result<Option<Claim>, Error> {
        // Asked between any two programs: no write, and no new revision, when there is nothing to claim.
        let waiting = self.read(|connection| {
            connection
                .prepare_cached("SELECT 1 FROM signatures WHERE state IN ('open', 'claimed')")?
                .exists([])
        })?;
        if !waiting {
            return Ok(None);
        }
        self.write(|transaction| {
            loop {
                let next: Option<(String, String, u32)> = transaction
                    .prepare_cached(
                        "SELECT signature, representative, attempt FROM signatures
                         WHERE state = 'open'
                            OR (state = 'claimed' AND worker IN (SELECT id FROM workers WHERE NOT alive))
                         ORDER BY attempt >= ?, priority DESC, first, signature LIMIT 1",
                    )?
                    .query_row([PATIENT_ATTEMPTS], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                    .optional()?;
                let Some((signature, representative, attempts)) = next else {
                    return Ok(None);
                };
                if attempts >= MOST_ATTEMPTS {
                    transaction.execute(
                        "UPDATE signatures SET state = 'failed', failure = 'its worker died each time'
                         WHERE signature = ?",
                        [&signature],
                    )?;
                    continue;
                }
                transaction.execute(
                    "UPDATE signatures SET state = 'claimed', worker = ?, attempt = ? WHERE signature = ?",
                    (worker.0, attempts + 1, &signature),
                )?;
                let finding = transaction.query_row(
                    &format!("SELECT {COLUMNS} FROM {SOURCE} WHERE f.id = ?"),
                    [&representative],
                    finding,
                )?;
                return Ok(Some(Claim {
                    signature: Signature(signature),
                    finding,
                    worker,
                    attempt: attempts + 1,
                }));
            }
        })
    }

    pub(super) fn settle_claim(&self, claim: &Claim, failure: Option<&str>) -> Result<(), Error> {
        let state = if failure.is_some() { "failed" } else { "done" };
        self.write(|transaction| {
            transaction.execute(
                "UPDATE signatures SET state = ?, failure = ?
                 WHERE signature = ? AND state = 'claimed' AND worker = ? AND attempt = ?",
                (
                    state,
                    failure,
                    &claim.signature.0,
                    claim.worker.0,
                    claim.attempt,
                ),
            )?;
            Ok(())
        })
    }
}

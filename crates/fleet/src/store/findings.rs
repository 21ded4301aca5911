//! Findings, and signatures that are to be reduced and isolated.

use std::time::{Duration, Instant};

use candor_store::document::{self, Contents};
use candor_store::{
    Claim, Fact, Finding, FindingId, Hash, Improvement, NewFinding, State, Timestamp, WorkerId,
};
use futures_util::TryStreamExt as _;
use serde_json::Value;

use super::{FleetStore, StoreError, lock, or_later};
use crate::Error;
use crate::claims::{Entry, Progress};
use crate::courier::Sent;
use crate::room::Room;
use crate::spool::Parcel;

/// The number of findings is not asked for more often than this.
const COUNTED: Duration = Duration::from_secs(5);

impl FleetStore {
    /// Stores a finding; whether it was new.
    pub(super) fn add_finding(&self, new: &NewFinding) -> Result<bool, StoreError> {
        // The content first: a fact never points at nothing.
        let case = document::put(self, &new.case)?;
        let finding = Finding {
            id: new.id.clone(),
            found: Timestamp(0),
            changed: Timestamp(0),
            stream: new.stream.clone(),
            seed: new.seed,
            variant: new.variant,
            kind: new.kind.clone(),
            compiler: new.compiler.clone(),
            version: new.version.clone(),
            family: new.family.clone(),
            level: new.level.clone(),
            signature: new.signature.clone(),
            key: new.signature.0.clone(),
            state: State::Found,
            title: new.title.clone(),
            affected: new.affected.clone(),
            culprit: None,
            case,
            reduced: None,
            exhibit: None,
        };
        let sent = self.courier.deliver(Parcel::Fact(Fact::Found {
            finding: Box::new(finding.clone()),
            priority: new.priority,
        }))?;
        if !lock(&self.view).knows(&new.signature) {
            let order = match sent {
                Sent::New(number) => number,
                // Later than all that are numbered.
                Sent::Known | Sent::Kept => u64::MAX,
            };
            self.courier.deliver(Parcel::Signature(Box::new(Entry {
                signature: new.signature.clone(),
                order,
                priority: new.priority,
                finding,
                state: Progress::Open,
                worker: None,
                attempt: 0,
                failure: None,
            })))?;
        }
        let fresh = sent != Sent::Known;
        if fresh {
            self.me().beat.findings += 1;
        }
        Ok(fresh)
    }

    /// What was learnt of a finding.
    pub(super) fn improve_finding(
        &self,
        id: &FindingId,
        improvement: &Improvement,
    ) -> Result<State, StoreError> {
        let put = |document: &Option<Value>| -> Result<Option<Hash>, StoreError> {
            match document {
                Some(document) => document::put(self, document).map(Some),
                None => Ok(None),
            }
        };
        let reduced = put(&improvement.reduced)?;
        let exhibit = put(&improvement.exhibit)?;
        let culprit = match &improvement.culprit {
            Some(culprit) => Some(Contents::put(self, culprit.to_string().as_bytes())?),
            None => None,
        };
        let isolated = culprit.is_some();
        self.courier.deliver(Parcel::Fact(Fact::Learnt {
            id: id.clone(),
            reduced: reduced.clone(),
            culprit,
            key: improvement.key.clone(),
            affected: improvement.affected.clone(),
            exhibit: exhibit.clone(),
        }))?;
        let entry = {
            let mut me = self.me();
            let Some(entry) = me.claims.get_mut(id) else {
                return Ok(candor_store::state(reduced.is_some(), isolated));
            };
            let finding = &mut entry.finding;
            finding.reduced = reduced.or(finding.reduced.take());
            finding.exhibit = exhibit.or(finding.exhibit.take());
            if let Some(key) = &improvement.key {
                finding.key.clone_from(key);
            }
            if let Some(affected) = &improvement.affected {
                finding.affected.clone_from(affected);
            }
            let isolated = isolated || finding.state == State::Isolated;
            finding.state = candor_store::state(finding.reduced.is_some(), isolated);
            entry.clone()
        };
        let state = entry.finding.state;
        self.store_claim(entry)?;
        Ok(state)
    }

    /// The signature that this worker should improve next, if there is one.
    pub(super) fn claim_next(&self, worker: WorkerId) -> Result<Option<Claim>, StoreError> {
        if self.courier.backlog() > 0 || !self.room.link.is_up() {
            return Ok(None);
        }
        let has = self.me().has.clone();
        // Held until we know what we have: two threads of ours are not to claim the same.
        let mut view = lock(&self.view);
        let working_on = {
            let me = self.me();
            let claims = me.claims.values();
            claims.map(|entry| entry.signature.clone()).collect()
        };
        let claimed = self.block(view.claim(&self.room, worker, &has, &working_on));
        let Some(entry) = or_later(claimed, None)? else {
            return Ok(None);
        };
        let claim = Claim {
            signature: entry.signature.clone(),
            finding: entry.finding.clone(),
            worker,
            attempt: entry.attempt,
        };
        self.me().claims.insert(entry.finding.id.clone(), entry);
        Ok(Some(claim))
    }

    /// A claimed signature is done with.
    pub(super) fn settle_claim(
        &self,
        claim: &Claim,
        failure: Option<&str>,
    ) -> Result<(), StoreError> {
        let Some(mut entry) = self.me().claims.remove(&claim.finding.id) else {
            return Ok(());
        };
        self.courier.deliver(Parcel::Fact(Fact::Settled {
            signature: claim.signature.clone(),
            attempt: claim.attempt,
            failure: failure.map(str::to_owned),
        }))?;
        entry.state = match failure {
            Some(_) => Progress::Failed,
            None => Progress::Done,
        };
        entry.failure = failure.map(str::to_owned);
        Ok(self.store_claim(entry)?)
    }

    fn store_claim(&self, entry: Entry) -> Result<(), Error> {
        let (worker, attempt) = (entry.worker.unwrap_or(WorkerId(0)), entry.attempt);
        lock(&self.view).note(entry.clone());
        self.courier.deliver(Parcel::Claimed {
            entry: Box::new(entry),
            worker,
            attempt,
        })?;
        Ok(())
    }

    /// How many findings the log has.
    pub(super) fn count_findings(&self) -> Result<u64, Error> {
        let known = *lock(&self.findings);
        if let Some((when, count)) = known
            && when.elapsed() < COUNTED
        {
            return Ok(count);
        }
        let count = self.block(count_findings(&self.room))?;
        *lock(&self.findings) = Some((Instant::now(), count));
        Ok(count)
    }
}

/// How many findings the log of a campaign has.
pub(crate) async fn count_findings(room: &Room) -> Result<u64, Error> {
    let subject = room.names.facts("found");
    let failed = |error: String| Error::broker("count the findings", error);
    let mut subjects = room
        .log
        .info_with_subjects(&subject)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let mut count = 0;
    while let Some((_, more)) = subjects
        .try_next()
        .await
        .map_err(|error| failed(error.to_string()))?
    {
        count += u64::try_from(more).unwrap_or(0);
    }
    Ok(count)
}

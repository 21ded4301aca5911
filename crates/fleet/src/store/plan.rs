//! What the campaign is and which seeds it has.

use candor_store::document::Contents;
use candor_store::{Campaign, Store as _, Timestamp, Wish};
use serde_json::Value;

use super::{FAREWELL, FleetStore, StoreError, lock};
use crate::{Error, campaign, contents};

impl FleetStore {
    /// The campaign's record, when it was begun, and its revision.
    pub(super) fn record(&self) -> Result<Option<(campaign::Record, Timestamp, u64)>, Error> {
        self.block(campaign::read(
            &self.room.campaigns,
            &self.room.names.campaign,
        ))
    }

    /// The campaign's plan, fetched once.
    pub(super) fn plan_of_campaign(&self) -> Result<Vec<Wish>, Error> {
        let Some((record, ..)) = self.record()? else {
            return Ok(Vec::new());
        };
        if let Some((hash, plan)) = &*lock(&self.plan)
            && *hash == record.plan
        {
            return Ok(plan.clone());
        }
        let bytes = contents::get(&self.room, &record.plan)?;
        let plan: Vec<Wish> = serde_json::from_slice(&bytes).map_err(|error| Error::Damaged {
            what: "plan",
            reason: error.to_string(),
        })?;
        *lock(&self.plan) = Some((record.plan, plan.clone()));
        Ok(plan)
    }

    /// Begins it, unless somebody did.
    pub(super) fn begin_campaign(&self, wanted: &Campaign) -> Result<Campaign, StoreError> {
        let plan = lock(&self.plan).as_ref().map(|(hash, _)| hash.clone());
        let plan = plan.ok_or_else(|| Error::Unstorable {
            what: "a campaign",
            reason: "it has no plan".to_owned(),
        })?;
        self.block(self.room.begin(wanted, &plan))?;
        let begun = self.campaign()?;
        begun.ok_or_else(|| {
            let reason = "it was removed at once".to_owned();
            let what = "campaign";
            Error::Damaged { what, reason }.into()
        })
    }

    /// Says which seeds there are, before it is begun.
    pub(super) fn put_plan(&self, wishes: &[Wish]) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(wishes).map_err(|error| Error::Unstorable {
            what: "a plan",
            reason: error.to_string(),
        })?;
        let hash = Contents::put(self, &bytes)?;
        // What the campaign's record names must be there.
        self.courier.finish(FAREWELL)?;
        *lock(&self.plan) = Some((hash, wishes.to_vec()));
        Ok(())
    }

    /// Changes its settings, and gives it more seeds.
    pub(super) fn amend_campaign(&self, settings: &Value) -> Result<(), StoreError> {
        let wanted = lock(&self.plan).clone();
        let Some((record, created, revision)) = self.record()? else {
            return Ok(());
        };
        let hash = match wanted {
            Some((hash, plan)) if hash != record.plan => {
                let bytes = contents::get(&self.room, &record.plan)?;
                let known: Vec<Wish> = serde_json::from_slice(&bytes).unwrap_or_default();
                may_become(&known, &plan)?;
                hash
            }
            _ => record.plan.clone(),
        };
        let wanted = Campaign {
            created,
            candor: record.candor,
            settings: settings.clone(),
        };
        if self.block(self.room.amend(&wanted, &hash, revision))? {
            Ok(())
        } else {
            Err(Error::broker("change the campaign", "somebody else just did; try again").into())
        }
    }
}

/// Whether a campaign's plan may be replaced by this one: the same seeds, and perhaps more.
fn may_become(known: &[Wish], wanted: &[Wish]) -> Result<(), Error> {
    let other = |reason: String| Err(Error::OtherPlan { reason });
    if known.len() != wanted.len() {
        return other(format!(
            "{} sequences of seeds, not {}",
            known.len(),
            wanted.len()
        ));
    }
    for (old, new) in known.iter().zip(wanted) {
        let same = (&old.stream, old.first, old.step) == (&new.stream, new.first, new.step);
        let fewer = match (old.end, new.end) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(old), Some(new)) => new < old,
        };
        if !same || fewer {
            return other(format!("the seeds of {} differ", old.stream.0));
        }
    }
    Ok(())
}

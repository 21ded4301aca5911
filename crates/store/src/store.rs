//! The interface every store implements.
//!
//! Whoever holds one may be killed at any moment. So each method is one step that is there wholly or not at all, and
//! those that add something take a name (a finding's id, a lease) under which repeating them changes nothing.

use serde_json::Value;

use crate::{
    Campaign, Claim, Count, Error, Event, Finding, FindingId, Grant, Group, Hash, Improvement,
    Lease, NewFinding, Outcome, Samples, Seeds, Signature, State, Totals, Wish, Worker, WorkerId,
};

/// Where a campaign lives. Object-safe, shared between threads.
pub trait Store: Send + Sync {
    // -- the campaign and its workers --

    /// The campaign, if one was begun.
    fn campaign(&self) -> Result<Option<Campaign>, Error>;

    /// Begins the campaign; if there is one already, that one comes back and `wanted` is dropped.
    fn begin(&self, wanted: &Campaign) -> Result<Campaign, Error>;

    /// Which seeds there are, in the order in which they should be judged; said before the campaign is begun or
    /// amended. Stores that hand seeds out of a queue keep it; others are told by each [`grant`](Store::grant).
    fn plan(&self, wishes: &[Wish]) -> Result<(), Error> {
        let _ = wishes;
        Ok(())
    }

    /// Whether workers on other machines use this store: the programs of a corpus must be in it, and a worker takes
    /// its settings from it.
    fn shared(&self) -> bool {
        false
    }

    /// Replaces the settings of the campaign (`--resume` with other flags).
    fn amend(&self, settings: &Value) -> Result<(), Error>;

    /// Joins as a worker.
    fn join(&self, label: &str) -> Result<WorkerId, Error>;

    /// Which of the campaign's compilers the worker has, and which it lacks: it is given what it can do.
    fn equip(&self, worker: WorkerId, has: &[String], lacks: &[String]) -> Result<(), Error> {
        let _ = (worker, has, lacks);
        Ok(())
    }

    /// What a person should know of the store, each said once (it cannot be reached, it is full, ...).
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Says that the worker lives, and takes note of those that do not. Call it every few seconds.
    fn beat(&self, worker: WorkerId) -> Result<(), Error>;

    /// Leaves: leases and claims that are not completed go back.
    fn leave(&self, worker: WorkerId) -> Result<(), Error>;

    /// All who ever worked here, in order.
    fn workers(&self) -> Result<Vec<Worker>, Error>;

    // -- seeds --

    /// A seed of one of `wishes`, earlier wishes first; of each, first those whose worker died, then the lowest that
    /// nobody had.
    fn grant(&self, worker: WorkerId, wishes: &[Wish]) -> Result<Grant, Error>;

    /// The first `done` programs of the seed are judged; counts what that took. Whoever has the lease next begins
    /// behind them. Doing it twice counts once.
    fn advance(&self, lease: &Lease, done: u64, counts: &[Count]) -> Result<(), Error>;

    /// Nothing of the seed is left to judge; counts what the rest took. Doing it twice counts once.
    fn complete(&self, lease: &Lease, outcome: &Outcome, counts: &[Count]) -> Result<(), Error>;

    /// How far seeds are judged.
    fn seeds(&self) -> Result<Seeds, Error>;

    /// What was counted, over time.
    fn samples(&self) -> Result<Samples, Error>;

    // -- findings --

    /// Stores a finding; `false` if it is there already (nothing is changed then).
    fn add(&self, finding: &NewFinding) -> Result<bool, Error>;

    /// Whether a finding of this signature is stored.
    fn knows(&self, signature: &Signature) -> Result<bool, Error>;

    /// Adds what was learnt. Its state follows from what is known.
    fn improve(&self, id: &FindingId, improvement: &Improvement) -> Result<State, Error>;

    /// One finding, by its id or the unambiguous beginning of it.
    fn finding(&self, id: &str) -> Result<Finding, Error>;

    /// All of them, oldest first.
    fn findings(&self) -> Result<Vec<Finding>, Error>;

    /// How many there are.
    fn totals(&self) -> Result<Totals, Error>;

    /// Unique findings, the furthest improved first, then oldest first.
    fn groups(&self) -> Result<Vec<Group>, Error>;

    /// The signature that should be reduced and isolated next: the highest priority, then the oldest; none that
    /// another living worker has, none that is done or was given up.
    fn claim(&self, worker: WorkerId) -> Result<Option<Claim>, Error>;

    /// The claim is done: everything that could be learnt is stored (`None`), or why it is left as it is.
    fn settle(&self, claim: &Claim, failure: Option<&str>) -> Result<(), Error>;

    // -- content --

    /// Stores bytes under their hash.
    fn put(&self, bytes: &[u8]) -> Result<Hash, Error>;

    /// The bytes of a hash, verified.
    fn get(&self, hash: &Hash) -> Result<Vec<u8>, Error>;

    /// A case or exhibit of a finding, as it was given.
    fn case(&self, hash: &Hash) -> Result<Value, Error>;

    // -- what happened --

    /// Notes an event.
    fn note(&self, kind: &str, body: &Value) -> Result<(), Error>;

    /// Events with numbers above `after`, at most `most`.
    fn events(&self, after: i64, most: usize) -> Result<Vec<Event>, Error>;

    /// Changes when anything in the store did: what a live report polls.
    fn revision(&self) -> Result<u64, Error>;
}

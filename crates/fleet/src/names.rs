//! What a campaign's things are called at the broker.

use candor_store::{Hash, Signature, Stream, WorkerId};

use crate::Error;

/// Longest name of a campaign.
const LONGEST: usize = 48;
/// The bucket of all campaigns.
pub(crate) const CAMPAIGNS: &str = "candor-campaigns";

/// The names of one campaign's streams, buckets, subjects and keys.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) campaign: String,
}

impl Names {
    pub(crate) fn new(campaign: &str) -> Result<Self, Error> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if campaign.is_empty() || campaign.len() > LONGEST || !campaign.chars().all(fits) {
            return Err(Error::BadName {
                name: campaign.chars().take(80).collect(),
            });
        }
        Ok(Names {
            campaign: campaign.to_owned(),
        })
    }

    /// The stream of seeds to judge.
    pub(crate) fn queue(&self) -> String {
        format!("candor-{}-queue", self.campaign)
    }

    /// The stream of facts.
    pub(crate) fn log(&self) -> String {
        format!("candor-{}-log", self.campaign)
    }

    /// The bucket of workers and of the queue's feed.
    pub(crate) fn state(&self) -> String {
        format!("candor-{}-state", self.campaign)
    }

    /// The bucket of signatures.
    pub(crate) fn signatures(&self) -> String {
        format!("candor-{}-signatures", self.campaign)
    }

    /// The object store.
    pub(crate) fn objects(&self) -> String {
        format!("candor-{}-objects", self.campaign)
    }

    /// Seeds for workers that have every compiler, and for all others.
    pub(crate) fn seeds(&self) -> String {
        format!("candor.{}.queue.all", self.campaign)
    }

    /// What is left of seeds for workers that have one of these compilers.
    pub(crate) fn rest(&self, set: &str) -> String {
        format!("candor.{}.queue.rest.{set}", self.campaign)
    }

    /// All seeds.
    pub(crate) fn all_seeds(&self) -> String {
        format!("candor.{}.queue.>", self.campaign)
    }

    /// All facts.
    pub(crate) fn all_facts(&self) -> String {
        format!("candor.{}.log.>", self.campaign)
    }

    /// Facts of one sort that are not about a seed.
    pub(crate) fn facts(&self, sort: &str) -> String {
        format!("candor.{}.log.{sort}", self.campaign)
    }

    /// Facts about one seed and its parts.
    pub(crate) fn parts(&self, stream: &Stream, number: u64) -> String {
        self.seed(stream, number, "*")
    }

    /// Facts about one seed, or a part of it.
    pub(crate) fn seed(&self, stream: &Stream, number: u64, part: &str) -> String {
        let part = if part.is_empty() { "all" } else { part };
        format!(
            "candor.{}.log.seed.{}.{number}.{part}",
            self.campaign,
            token(stream)
        )
    }
}

/// A sequence as one word of a subject.
fn token(stream: &Stream) -> String {
    match stream.0.strip_prefix("corpus/") {
        Some(hash) => format!("corpus-{}", hash.get(..32).unwrap_or(hash)),
        None => stream.0.clone(),
    }
}

/// Whether this is a sequence that a campaign can have: what comes from the broker may be anything.
pub(crate) fn is_sequence(stream: &Stream) -> bool {
    match stream.0.strip_prefix("corpus/") {
        Some(hash) => Hash::parse(hash).is_some(),
        None => stream.0 == "csmith",
    }
}

/// The key of a signature, which itself may contain anything.
pub(crate) fn key_of(signature: &Signature) -> String {
    short(&signature.0)
}

/// The key of a worker.
pub(crate) fn key_of_worker(worker: WorkerId) -> String {
    format!("worker.{}", worker.0)
}

/// A set of compilers as one word; empty for no set.
pub(crate) fn set_of(compilers: &[String]) -> String {
    let mut names = compilers.to_vec();
    names.sort();
    short(&names.join("\n"))
}

fn short(text: &str) -> String {
    let hash = Hash::of(text.as_bytes());
    hash.as_str().get(..32).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_subject_cannot_hold_are_refused() {
        for good in ["gcc16", "a", "nightly_2-x"] {
            assert_eq!(Names::new(good).unwrap().campaign, good);
        }
        for bad in ["", "a.b", "a b", "a>", "ä", &"x".repeat(49)] {
            let error = Names::new(bad).unwrap_err().to_string();
            assert!(error.contains("1 to 48 letters"), "{error}");
        }
    }

    #[test]
    fn only_known_sequences_are_accepted() {
        let hash = Hash::of(b"x");
        assert!(is_sequence(&Stream("csmith".into())));
        assert!(is_sequence(&Stream(format!("corpus/{hash}"))));
        for bad in ["", "csmith.>", "corpus/../../etc", "corpus/abc"] {
            assert!(!is_sequence(&Stream(bad.into())), "{bad}");
        }
    }

    #[test]
    fn a_set_of_compilers_has_one_name_in_any_order() {
        let set = |names: &[&str]| set_of(&names.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        assert_eq!(set(&["a", "b"]), set(&["b", "a"]));
        assert_ne!(set(&["a", "b"]), set(&["ab"]));
    }
}

//! What a bug's rankings are made of, kept: formulas can be compared on it without compiling anything again.
//!
//! A file is one line of JSON (what the covers are) and then the covers, bit by bit, in the order the line names them. Covers of
//! witnesses are kept only where the failing compilation went too: nothing else counts in a ranking.

use std::collections::BTreeMap;
use std::path::Path;

use candor_coverage::ranking::Witness;
use candor_coverage::{Cover, Voter, Voters};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What the rankings of one bug are made of.
#[derive(Clone, Debug)]
pub struct Spectra {
    /// What the compiler did for the failing program.
    pub failing: Cover,
    /// Witnesses by source, and the files of curing passes.
    pub voters: Voters,
    /// Mutants by rules chosen at random, if there was such a search.
    pub random: Option<Vec<Witness>>,
}

#[derive(Serialize, Deserialize)]
struct Heading {
    curing: Vec<(String, String)>,
    #[serde(default)]
    trace: Vec<String>,
    words: usize,
    witnesses: Vec<(Voter, Vec<String>)>,
    random: Option<Vec<String>>,
}

impl Spectra {
    /// Writes a file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let names = |list: &[Witness]| -> Vec<String> {
            list.iter().map(|witness| witness.name.clone()).collect()
        };
        let words = self.failing.words().len();
        let heading = Heading {
            curing: self.voters.curing.clone(),
            trace: self.voters.trace.clone(),
            words,
            witnesses: self
                .voters
                .witnesses
                .iter()
                .map(|(voter, list)| (*voter, names(list)))
                .collect(),
            random: self.random.as_deref().map(names),
        };
        let mut bytes = serde_json::to_vec(&heading).map_err(|error| Error::Spectra {
            path: path.to_owned(),
            why: error.to_string(),
        })?;
        bytes.push(b'\n');
        let witnesses = self.voters.witnesses.values().flatten();
        let covers = witnesses.chain(self.random.iter().flatten());
        let mut put = |cover: &Cover| {
            let mine = cover.words().iter().copied().chain(std::iter::repeat(0));
            for (word, failing) in mine.zip(self.failing.words()) {
                bytes.extend((word & failing).to_le_bytes());
            }
        };
        put(&self.failing);
        covers.for_each(|witness| put(&witness.cover));
        candor_predicate::write_whole(path, &bytes)?;
        Ok(())
    }

    /// Reads a file of [`Spectra::save`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path)
            .map_err(|source| candor_toolchain::Error::file("read", path, source))?;
        Self::parse(&bytes).ok_or_else(|| Error::Spectra {
            path: path.to_owned(),
            why: "it is cut short or not such a file; delete it and run the bug again".into(),
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let heading: Heading = serde_json::from_slice(bytes.get(..end)?).ok()?;
        let lists = heading.witnesses.iter().map(|(_, names)| names.len());
        let random = heading.random.as_ref().map_or(0, Vec::len);
        let count = lists.sum::<usize>() + random + 1;
        let body = bytes.get(end + 1..)?;
        let size = heading.words.checked_mul(8)?;
        if size == 0 || body.len() != size.checked_mul(count)? {
            return None;
        }
        let mut covers = body.chunks_exact(size).map(|chunk| {
            let words = chunk.as_chunks().0.iter();
            Cover::from_words(words.map(|word| u64::from_le_bytes(*word)).collect())
        });
        let failing = covers.next()?;
        let mut take = |names: Vec<String>| -> Option<Vec<Witness>> {
            let witness = |name| covers.next().map(|cover| Witness { name, cover });
            names.into_iter().map(witness).collect()
        };
        let mut witnesses = BTreeMap::new();
        for (voter, names) in heading.witnesses {
            witnesses.insert(voter, take(names)?);
        }
        let random = match heading.random {
            Some(names) => Some(take(names)?),
            None => None,
        };
        Some(Spectra {
            failing,
            voters: Voters {
                witnesses,
                curing: heading.curing,
                trace: heading.trace,
            },
            random,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness(name: &str, statements: &[u32]) -> Witness {
        Witness {
            name: name.into(),
            cover: statements.iter().copied().collect(),
        }
    }

    #[test]
    fn what_is_kept_ranks_as_before_and_damage_is_noticed() {
        let spectra = Spectra {
            failing: [1, 5, 70].into_iter().collect(),
            voters: Voters {
                witnesses: BTreeMap::from([
                    (Voter::Suite, vec![witness("t", &[1, 2, 300])]),
                    (Voter::Mutants, vec![witness("m", &[5]), witness("n", &[])]),
                ]),
                curing: vec![("a.cc".into(), "tree-a".into())],
                trace: vec!["b.cc".into()],
            },
            random: Some(vec![witness("r", &[70])]),
        };
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("1.spectra");
        spectra.save(&path).expect("saved");
        let read = Spectra::load(&path).expect("read");
        let statements = |list: &[Witness]| -> Vec<Vec<u32>> {
            list.iter().map(|one| one.cover.iter().collect()).collect()
        };
        assert_eq!(read.failing.iter().collect::<Vec<_>>(), [1, 5, 70]);
        assert_eq!(statements(&read.voters.witnesses[&Voter::Suite]), [[1]]);
        assert_eq!(
            statements(&read.voters.witnesses[&Voter::Mutants]),
            [vec![5], vec![]]
        );
        assert_eq!(statements(&read.random.expect("random ones")), [[70]]);
        assert_eq!(read.voters.curing, spectra.voters.curing);
        assert_eq!(read.voters.trace, spectra.voters.trace);
        let bytes = std::fs::read(&path).expect("bytes");
        for length in 0..bytes.len() {
            assert!(Spectra::parse(&bytes[..length]).is_none(), "{length}");
        }
    }
}

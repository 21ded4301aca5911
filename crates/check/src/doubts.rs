//! Where the reference builds do not agree on chains: compilers name different lines for calls that are written over
//! several. Such a line is not compared; a chain with other functions is not compared at all.

use std::collections::HashSet;
use std::sync::Arc;

use candor_dwarf::{Chain, ChainEnd};

/// A chain and its number.
pub(crate) type Numbered<'c> = (u32, &'c Arc<Chain>);

/// What is not to be compared of the recorded chains, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    chains: HashSet<u32>,
    lines: HashSet<(u32, usize)>,
    /// Pairs of chains that were held against each other, of one other reference.
    heard: HashSet<(u32, u32)>,
}

impl Doubts {
    /// Holds another reference's chain against the recorded one.
    pub(crate) fn hear(&mut self, recorded: Numbered<'_>, theirs: Option<Numbered<'_>>) {
        let (id, ours) = recorded;
        let Some((number, theirs)) = theirs else {
            self.chains.insert(id);
            return;
        };
        if !self.heard.insert((id, number)) {
            return;
        }
        let is_cut = ours.end == ChainEnd::Cut || theirs.end == ChainEnd::Cut;
        let pairs = || ours.frames.iter().zip(&theirs.frames);
        if (ours.frames.len() != theirs.frames.len() && !is_cut)
            || pairs().any(|(ours, theirs)| ours.function != theirs.function)
        {
            self.chains.insert(id);
        }
        for (place, (ours, theirs)) in pairs().enumerate() {
            if ours.line != theirs.line || ours.line.is_none() {
                self.lines.insert((id, place));
            }
        }
    }

    /// Takes over what another reference doubts.
    pub(crate) fn add(&mut self, others: Doubts) {
        self.chains.extend(others.chains);
        self.lines.extend(others.lines);
    }

    /// Whether the chain can be compared.
    pub(crate) fn trusts(&self, chain: u32) -> bool {
        !self.chains.contains(&chain)
    }

    /// Whether the line of one of its frames can be.
    pub(crate) fn trusts_line(&self, chain: u32, frame: usize) -> bool {
        !self.lines.contains(&(chain, frame))
    }
}

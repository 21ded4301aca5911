//! Delta debugging over the edits a pass offers: large groups first, then halves, down to single ones.
//!
//! Zeller and Hildebrandt's ddmin without its complements (an edit that was refused alone is not
//! tried in company again), applied level by level as in Misherghi and Su's hierarchical variant.

use crate::edit::{Edit, apply};
use crate::jury::{Jury, Size, Stop};
use crate::layout::layout;
use crate::tidy::tidy;

/// Whether candidates may be as large as what they are made from, or larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Every success is smaller.
    Never,
    /// A success may grow the program by so many tokens: an inlined function goes away later.
    UpTo(usize),
}

/// The best program so far, and who decides on others.
pub struct Session<'j, 'a> {
    /// Decides.
    pub jury: &'j Jury<'a>,
    /// The best so far, laid out.
    pub best: String,
    /// Whether texts are laid out anew; not when the finding hangs on the original's lines.
    pub relayout: bool,
    /// Decides the order in which edits are tried; 0 is the order of the pass.
    pub seed: u64,
}

impl Session<'_, '_> {
    /// A text as it is tested.
    pub fn form(&self, text: &str) -> String {
        if self.relayout {
            layout(&tidy(text))
        } else {
            tidy(text)
        }
    }

    /// Tries the given texts in order; takes the first that holds.
    pub fn try_texts(&mut self, texts: &[String], growth: Growth) -> Result<bool, Stop> {
        let make = |index: usize| {
            let text = self.form(texts.get(index)?);
            self.smaller(&text, growth).then_some(text)
        };
        match self.jury.first(texts.len(), &make)? {
            Some((_, text)) => {
                self.take(text);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn take(&mut self, text: String) {
        self.jury.moved_to(&text);
        self.best = text;
    }

    fn smaller(&self, text: &str, growth: Growth) -> bool {
        if text == self.best {
            return false;
        }
        let (new, old) = (Size::of(text), Size::of(&self.best));
        match growth {
            Growth::Never => (new.tokens, new.bytes) < (old.tokens, old.bytes),
            Growth::UpTo(more) => new.tokens <= old.tokens + more,
        }
    }

    /// Applies as many of `edits` (of the present best text) as the predicate bears; true when any.
    pub fn sweep(&mut self, edits: Vec<Edit>, growth: Growth) -> Result<bool, Stop> {
        let base = self.best.clone();
        let mut alive: Vec<Edit> = edits;
        if self.seed != 0 {
            fastrand::Rng::with_seed(self.seed).shuffle(&mut alive);
        }
        let mut taken: Vec<Edit> = Vec::new();
        let mut chunk = alive.len();
        while chunk >= 1 {
            let mut at = 0;
            while at < alive.len() {
                let groups: Vec<&[Edit]> = alive.get(at..).unwrap_or(&[]).chunks(chunk).collect();
                let make = |index: usize| {
                    let group = groups.get(index)?;
                    let text = self.form(&apply(&base, taken.iter().chain(group.iter()))?);
                    self.smaller(&text, growth).then_some(text)
                };
                let Some((index, text)) = self.jury.first(groups.len(), &make)? else {
                    break;
                };
                let from = at + index * chunk;
                let to = (from + chunk).min(alive.len());
                taken.extend(alive.drain(from..to));
                at = from;
                self.take(text);
            }
            if chunk == 1 {
                break;
            }
            chunk = chunk.min(alive.len().max(1)).div_ceil(2);
        }
        Ok(!taken.is_empty())
    }

    /// As [`Self::sweep`], each edit on its own: for alternatives that exclude each other.
    pub fn one_by_one(&mut self, edits: Vec<Edit>, growth: Growth) -> Result<bool, Stop> {
        let base = self.best.clone();
        let mut taken: Vec<Edit> = Vec::new();
        let mut at = 0;
        while at < edits.len() {
            let rest = edits.get(at..).unwrap_or(&[]);
            let make = |index: usize| {
                let edit = rest.get(index)?;
                let text = self.form(&apply(&base, taken.iter().chain([edit]))?);
                self.smaller(&text, growth).then_some(text)
            };
            let Some((index, text)) = self.jury.first(rest.len(), &make)? else {
                break;
            };
            taken.extend(rest.get(index).cloned());
            at += index + 1;
            self.take(text);
        }
        Ok(!taken.is_empty())
    }
}

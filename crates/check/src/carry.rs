//! What is carried from stop to stop. A program has hundreds of globals and changes a few of them between two
//! stops; what was found of the others still holds. So whoever watches a run keeps a [`Journal`] of what may have
//! changed and, per set of globals that stops show, a [`Standing`]: the class of each as of the last look. A stop
//! then costs what changed since. The result is that of looking at everything each time, which the tests insist on.

use std::collections::BTreeSet;

use crate::finding::{Class, Counts};
use crate::recording::{GlobalMap, KeyId};

/// What may have changed, in the order in which it was noticed.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Vec<u32>,
    /// How often everything may have changed.
    epoch: u64,
}

/// How far somebody has read a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bookmark(Option<(u64, usize)>);

/// Entries kept; who is further behind looks at everything.
const MAX_ENTRIES: usize = 1 << 16;

impl Journal {
    /// This may have changed.
    pub(crate) fn note(&mut self, what: u32) {
        self.entries.push(what);
        if self.entries.len() >= MAX_ENTRIES {
            self.note_all();
        }
    }

    /// Anything may have changed.
    pub(crate) fn note_all(&mut self) {
        self.entries.clear();
        self.epoch += 1;
    }

    /// What is new since the bookmark, which moves to the end; `None`: everything.
    pub(crate) fn since(&self, bookmark: &mut Bookmark) -> Option<&[u32]> {
        let end = (self.epoch, self.entries.len());
        match bookmark.0.replace(end) {
            Some((epoch, read)) if epoch == self.epoch => self.entries.get(read..),
            _ => None,
        }
    }
}

/// The classes of the globals that some stops show.
#[derive(Debug)]
pub(crate) struct Standing {
    read: Bookmark,
    /// Which globals: their numbers, and their places among the site's globals where the build describes them.
    globals: Vec<(KeyId, Option<u32>)>,
    /// By number: the index in `globals`, or [`NOT_HERE`].
    indices: Vec<u32>,
    classes: Vec<Option<Class>>,
    /// How many are of which class.
    pub(crate) counts: Counts,
    /// Indices of those that are wrong or ill-formed, in order.
    notable: BTreeSet<u32>,
    /// Those that were compared for the first time, and nobody was told yet.
    news: Vec<KeyId>,
    told: Vec<bool>,
}

const NOT_HERE: u32 = u32::MAX;

impl Standing {
    /// Of the globals that `listed` lists, at the places that `shown` has for them. Nothing is classed yet.
    pub(crate) fn new(listed: &GlobalMap, shown: &GlobalMap, keys: usize) -> Self {
        let mut places = vec![NOT_HERE; keys];
        for (place, id) in shown.iter() {
            if let Some(slot) = places.get_mut(*id as usize) {
                *slot = *place;
            }
        }
        let mut indices = vec![NOT_HERE; keys];
        let mut globals = Vec::with_capacity(listed.len());
        for (index, (_, id)) in (0u32..).zip(listed.iter()) {
            if let Some(slot) = indices.get_mut(*id as usize) {
                *slot = index;
            }
            let place = places.get(*id as usize).copied();
            globals.push((*id, place.filter(|place| *place != NOT_HERE)));
        }
        Standing {
            read: Bookmark::default(),
            classes: vec![None; globals.len()],
            globals,
            indices,
            counts: Counts::default(),
            notable: BTreeSet::new(),
            news: Vec::new(),
            told: vec![false; listed.len()],
        }
    }

    /// Classes again what the journal says may have changed. `class` gets a number and a place.
    pub(crate) fn catch_up(
        &mut self,
        journal: &Journal,
        class: impl Fn(KeyId, Option<u32>) -> Option<Class>,
    ) {
        match journal.since(&mut self.read) {
            Some(news) if news.len() <= self.globals.len() => {
                for id in news {
                    let index = self.indices.get(*id as usize).copied();
                    if let Some(index) = index.filter(|index| *index != NOT_HERE) {
                        self.class_again(index, &class);
                    }
                }
            }
            _ => {
                for index in 0..self.globals.len() as u32 {
                    self.class_again(index, &class);
                }
            }
        }
    }

    fn class_again(&mut self, index: u32, class: impl Fn(KeyId, Option<u32>) -> Option<Class>) {
        let (Some((id, place)), Some(slot)) = (
            self.globals.get(index as usize),
            self.classes.get_mut(index as usize),
        ) else {
            return;
        };
        let new = class(*id, *place);
        let old = std::mem::replace(slot, new);
        if old == new {
            return;
        }
        let is_notable = |class| matches!(class, Class::Wrong | Class::IllFormed);
        if let Some(old) = old {
            *self.counts.of(old) -= 1;
        }
        if let Some(new) = new {
            *self.counts.of(new) += 1;
        }
        if matches!(new, Some(Class::Equal | Class::Wrong | Class::IllFormed))
            && let Some(told) = self.told.get_mut(index as usize)
            && !std::mem::replace(told, true)
        {
            self.news.push(*id);
        }
        if new.is_some_and(is_notable) {
            self.notable.insert(index);
        } else if old.is_some_and(is_notable) {
            self.notable.remove(&index);
        }
    }

    /// Numbers of those whose last class says that a value was shown and compared, once each.
    pub(crate) fn compared(&mut self) -> impl Iterator<Item = KeyId> + '_ {
        self.news.drain(..)
    }

    /// Numbers and places of what is wrong or ill-formed, in the order of the list.
    pub(crate) fn notable(&self) -> impl Iterator<Item = (KeyId, Option<u32>)> + '_ {
        self.notable
            .iter()
            .filter_map(|index| self.globals.get(*index as usize).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_tells_each_reader_what_is_new_to_it() {
        let mut journal = Journal::default();
        let (mut early, mut late) = (Bookmark::default(), Bookmark::default());
        assert_eq!(journal.since(&mut early), None);
        journal.note(4);
        assert_eq!(journal.since(&mut early), Some(&[4][..]));
        assert_eq!(journal.since(&mut late), None);
        journal.note(5);
        journal.note(6);
        assert_eq!(journal.since(&mut early), Some(&[5, 6][..]));
        journal.note_all();
        journal.note(7);
        assert_eq!(journal.since(&mut early), None);
        assert_eq!(journal.since(&mut early), Some(&[][..]));
        for entry in 0..MAX_ENTRIES as u32 {
            journal.note(entry);
        }
        assert_eq!(journal.since(&mut early), None, "too far behind");
    }

    #[test]
    fn a_standing_counts_as_if_all_were_classed_anew() {
        let listed: GlobalMap = [(0, 3), (1, 5), (2, 9), (3, 1)].into();
        let shown: GlobalMap = [(0, 9), (7, 3), (8, 5)].into();
        let mut standing = Standing::new(&listed, &shown, 10);
        let mut journal = Journal::default();
        let mut classes = [Some(Class::Equal); 10];
        for step in 0..500usize {
            for change in 0..step % 3 {
                let id = (step * 7 + change * 3) % 10;
                classes[id] = match (step / 10 + change) % 5 {
                    0 => None,
                    1 => Some(Class::Wrong),
                    2 => Some(Class::IllFormed),
                    3 => Some(Class::OptimisedOut),
                    _ => Some(Class::Equal),
                };
                journal.note(id as u32);
            }
            if step % 90 == 0 {
                journal.note_all();
            }
            standing.catch_up(&journal, |id, place| {
                let expected = shown
                    .iter()
                    .find(|(_, other)| *other == id)
                    .map(|(at, _)| *at);
                assert_eq!(place, expected);
                classes[id as usize]
            });
            let now = |id: u32| classes[id as usize];
            let count = |class| {
                listed
                    .iter()
                    .filter(|(_, id)| now(*id) == Some(class))
                    .count()
            };
            assert_eq!(standing.counts.wrong, count(Class::Wrong) as u64);
            assert_eq!(standing.counts.equal, count(Class::Equal) as u64);
            assert_eq!(
                standing.counts.optimised_out,
                count(Class::OptimisedOut) as u64
            );
            let notable: Vec<u32> = standing.notable().map(|(id, _)| id).collect();
            let expected: Vec<u32> = listed
                .iter()
                .map(|(_, id)| *id)
                .filter(|id| matches!(now(*id), Some(Class::Wrong | Class::IllFormed)))
                .collect();
            assert_eq!(notable, expected, "step {step}");
        }
    }
}

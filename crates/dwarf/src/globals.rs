//! The globals of a unit, prepared once for all the sites that show them. Most lie at fixed addresses next to each
//! other, so their bytes can be read in a few stretches and compared with those of the stop before: `sight` looks
//! again only at what changed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::place::Place;
use crate::site::{Block, Variable};
use crate::{Leaf, Omitted};

/// A variable that reaches further is read leaf by leaf instead of at once.
pub(crate) const AT_ONCE: u64 = 4096;
/// Unused bytes between two variables that are read along. Less than a page, so that they are mapped if both are.
const GAP: u64 = 64;
/// Bytes of one stretch, so that one page that is not there does not hide much.
const MAX_STRETCH: u64 = 64 * 1024;

/// The globals as the sites of some addresses show them.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) fixed: Arc<Fixed>,
}

/// What does not depend on which of them are hidden by locals.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    pub(crate) variables: Vec<Variable>,
    names: HashSet<Arc<str>>,
    /// Stretches of memory with the variables in them.
    pub(crate) stretches: Vec<Stretch>,
    /// All bytes of the stretches.
    pub(crate) bytes: usize,
    /// Variables that are neither in a stretch nor constant: looked at each time.
    pub(crate) elsewhere: Vec<usize>,
    /// Those that are not looked at in full.
    pub(crate) omitted: Arc<[Omitted]>,
}

/// Bytes that are read at once.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// Address in the file.
    pub(crate) start: u64,
    pub(crate) length: usize,
    /// Indices of variables and where in the stretch they start.
    pub(crate) variables: Vec<(usize, usize)>,
}

impl Globals {
    pub(crate) fn new(block: Block) -> Globals {
        let Block {
            leaves,
            variables,
            omitted,
        } = block;
        let names = leaves
            .iter()
            .map(|leaf| leaf.key.variable.clone())
            .collect();
        let mut still: Vec<(u64, usize)> = Vec::new();
        let mut elsewhere = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            match &variable.known.place {
                Place::Static(address)
                    if variable.of(&leaves).iter().all(|leaf| leaf.route.is_none())
                        && variable.known.reach <= AT_ONCE
                        && address.checked_add(AT_ONCE).is_some() =>
                {
                    still.push((*address, index));
                }
                Place::OptimisedOut
                | Place::IllFormed(_)
                | Place::Constant(_)
                | Place::ConstantAddress(_)
                    if variable.of(&leaves).iter().all(|leaf| leaf.route.is_none()) => {}
                _ => elsewhere.push(index),
            }
        }
        still.sort_unstable();
        let mut stretches: Vec<Stretch> = Vec::new();
        for (address, index) in still {
            let reach = variables[index].known.reach;
            let joins = |stretch: &Stretch| {
                let end = stretch.start + stretch.length as u64;
                address <= end.saturating_add(GAP) && address + reach - stretch.start <= MAX_STRETCH
            };
            match stretches.last_mut().filter(|stretch| joins(stretch)) {
                Some(stretch) => {
                    let at = (address - stretch.start) as usize;
                    stretch.length = stretch.length.max(at + reach as usize);
                    stretch.variables.push((index, at));
                }
                None => stretches.push(Stretch {
                    start: address,
                    length: reach as usize,
                    variables: vec![(index, 0)],
                }),
            }
        }
        Globals {
            leaves,
            fixed: Arc::new(Fixed {
                variables,
                names,
                bytes: stretches.iter().map(|stretch| stretch.length).sum(),
                stretches,
                elsewhere,
                omitted: omitted.into(),
            }),
        }
    }

    /// The same with those marked that have a hidden name.
    fn hiding(&self, hidden: &[Arc<str>]) -> Globals {
        let mut leaves = self.leaves.clone();
        for leaf in &mut leaves {
            leaf.shadowed = hidden.contains(&leaf.key.variable);
        }
        Globals {
            leaves,
            fixed: self.fixed.clone(),
        }
    }
}

/// The globals of one unit, once for each set of names that are hidden somewhere.
#[derive(Debug)]
pub(crate) struct GlobalsOfUnit {
    plain: Arc<Globals>,
    hiding: Mutex<HashMap<Vec<Arc<str>>, Arc<Globals>>>,
}

impl GlobalsOfUnit {
    pub(crate) fn new(block: Block) -> GlobalsOfUnit {
        GlobalsOfUnit {
            plain: Arc::new(Globals::new(block)),
            hiding: Mutex::default(),
        }
    }

    /// The globals where variables of these names are declared further in.
    pub(crate) fn beside(&self, locals: impl Iterator<Item = Arc<str>>) -> Arc<Globals> {
        let mut hidden: Vec<Arc<str>> = locals
            .filter(|name| self.plain.fixed.names.contains(name))
            .collect();
        if hidden.is_empty() {
            return self.plain.clone();
        }
        hidden.sort_unstable();
        hidden.dedup();
        let mut hiding = self.hiding.lock().unwrap_or_else(PoisonError::into_inner);
        hiding
            .entry(hidden)
            .or_insert_with_key(|hidden| Arc::new(self.plain.hiding(hidden)))
            .clone()
    }
}

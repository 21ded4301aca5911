//! Up the stack: at a call of the barrier, which functions have not returned, and what their variables are.
//!
//! Chains repeat from stop to stop, so each is made once and has a number. The variables of the frames further up
//! change less often than one can afford to look at them: the observer says at which stops it wants them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use candor_dwarf::{Chain, ChainEnd, Image, Machine, Observation, Site, Stack, Svma};

/// What a run knows of the frames further up.
#[derive(Default)]
pub(crate) struct Climber {
    stack: Stack,
    /// Room for the addresses of the present stop.
    addresses: Vec<u64>,
    ids: HashMap<(Box<[u64]>, ChainEnd), u32>,
    chains: Vec<Arc<Chain>>,
    /// By address and the depth that is left.
    sites: HashMap<(Svma, usize), Option<Arc<Site>>>,
    now: Option<u32>,
    upper: Vec<UpperFrame>,
}

/// The variables of one frame of the stack, in its registers: of the functions that are inlined there too.
#[derive(Debug)]
pub struct UpperFrame {
    /// The depth of its innermost function, counting inlined ones; what a leaf's own depth is to be added to. The
    /// variables of the innermost function of all are not among them: the stop's own site shows those.
    pub base: u16,
    /// What is visible at its call.
    pub site: Arc<Site>,
    /// One per leaf of the site, in the same order.
    pub observations: Vec<Observation>,
}

impl Climber {
    /// Forgets the last stop.
    pub(crate) fn look_away(&mut self) {
        self.now = None;
        self.upper.clear();
    }

    /// Walks the stack, up to `limit` frames.
    pub(crate) fn climb(&mut self, image: &Image, pc: Svma, machine: &dyn Machine, limit: usize) {
        self.look_away();
        image.walk(&mut self.stack, pc, machine, limit);
        if self.stack.is_empty() {
            return;
        }
        let mut key = std::mem::take(&mut self.addresses);
        key.clear();
        key.extend(self.stack.addresses());
        let key = (key.into_boxed_slice(), self.stack.end());
        let id = match self.ids.get(&key) {
            Some(known) => *known,
            None => {
                let id = self.chains.len() as u32;
                self.chains.push(Arc::new(image.chain(&self.stack)));
                self.ids.insert(key.clone(), id);
                id
            }
        };
        self.addresses = key.0.into_vec();
        self.now = Some(id);
    }

    /// The chain of the present stop and its number.
    pub(crate) fn chain(&self) -> Option<(u32, &Arc<Chain>)> {
        let id = self.now?;
        Some((id, self.chains.get(id as usize)?))
    }

    /// Looks at the variables of the functions at depth 1 to `depth`.
    pub(crate) fn observe(
        &mut self,
        image: &Image,
        machine: &dyn Machine,
        depth: u16,
        leaf_cap: usize,
    ) {
        let mut base = 0u16;
        for level in 0..self.stack.len() {
            let functions = self.stack.functions(level) as u16;
            let above = base.saturating_add(functions);
            if above > 1 && base <= depth {
                // the innermost function's variables are the stop's own
                let wanted = usize::from(level == 0)..usize::from(depth - base) + 1;
                self.observe_level(image, machine, (level, base), wanted, leaf_cap);
            }
            base = above;
            if base > depth {
                break;
            }
        }
    }

    fn observe_level(
        &mut self,
        image: &Image,
        machine: &dyn Machine,
        (level, base): (usize, u16),
        wanted: Range<usize>,
        leaf_cap: usize,
    ) {
        let Some(address) = self.stack.address(level) else {
            return;
        };
        let key = (address, wanted.end);
        let prepare = || {
            image
                .site_of_depths(address, wanted, leaf_cap)
                .ok()
                .map(Arc::new)
        };
        let site = self.sites.entry(key).or_insert_with(prepare);
        let Some(site) = site.clone() else { return };
        let mut observations = Vec::new();
        image.observe_frame(&self.stack, level, &site, machine, &mut observations);
        self.upper.push(UpperFrame {
            base,
            site,
            observations,
        });
    }

    /// What was observed.
    pub(crate) fn upper(&self) -> &[UpperFrame] {
        &self.upper
    }
}

//! Everything visible at one address: the innermost function, the blocks around the address, their variables, and where
//! each of them is. Prepared once; [`Image::observe`](crate::Image::observe) evaluates it at each visit.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use gimli::constants as dw;

use crate::cfi::Frames;
use crate::expression::budget;
use crate::frame::Scope;
use crate::globals::{Globals, GlobalsOfUnit};
use crate::layout::{Layout, Shape, layout};
use crate::length::Count;
use crate::place::{Place, Text};
use crate::scopes::{Candidate, globals, instances, locals};
use crate::tree::Damage;
use crate::units::{EntryId, Units};
use crate::{Error, Leaf, LeafKey, Line, Omitted, ScalarKind, Svma};

/// What a site shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteOptions {
    /// Also the globals of the unit.
    pub globals: bool,
    /// How many leaves of one variable at most.
    pub leaf_cap: usize,
    /// Also the variables of the functions that the innermost one is inlined into.
    pub all_frames: bool,
}

impl Default for SiteOptions {
    fn default() -> SiteOptions {
        SiteOptions {
            globals: true,
            leaf_cap: 64,
            all_frames: false,
        }
    }
}

/// In what sort of place a leaf is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In memory, which stores reach when it suits the optimiser.
    Memory,
    /// In a register, a constant, computed, in pieces, or nowhere.
    Elsewhere,
}

/// Everything visible at one program counter.
#[derive(Debug)]
pub struct Site {
    /// The address that was asked for.
    pub pc: Svma,
    /// The innermost function, inlined or not.
    pub function: String,
    /// The line of the row that covers the address.
    pub line: Option<Line>,
    pub(crate) scope: Scope,
    /// The variables of functions.
    pub(crate) own: Block,
    /// Those of the unit, shared with other sites.
    pub(crate) globals: Arc<Globals>,
}

/// The leaves of a site: first those of its functions' variables, innermost first, then the globals.
#[derive(Debug, Clone, Copy, Default)]
pub struct Leaves<'s> {
    /// Of the variables of functions.
    pub own: &'s [Leaf],
    /// Of the unit's variables; the same slice at most sites.
    pub globals: &'s [Leaf],
}

impl<'s> Leaves<'s> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.own.len() + self.globals.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Option<&'s Leaf> {
        match index.checked_sub(self.own.len()) {
            None => self.own.get(index),
            Some(index) => self.globals.get(index),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'s Leaf> + use<'s> {
        self.own.iter().chain(self.globals)
    }
}

/// Leaves and the variables that they are parts of.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) omitted: Vec<Omitted>,
}

/// A variable of a site.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) first_leaf: usize,
    pub(crate) leaf_count: usize,
    pub(crate) known: Arc<Known>,
}

/// What is known of a variable at an address; for globals usually the same at all of them.
#[derive(Debug)]
pub(crate) struct Known {
    /// Bytes from its start to the end of its last leaf.
    pub(crate) reach: u64,
    pub(crate) place: Place,
    pub(crate) text: Text,
    /// For an array whose length is known at run time only.
    pub(crate) count: Option<Count>,
}

impl Variable {
    /// Its leaves among those of its block.
    pub(crate) fn of<'l, T>(&self, all: &'l [T]) -> &'l [T] {
        all.get(self.first_leaf..self.first_leaf + self.leaf_count)
            .unwrap_or_default()
    }

    /// The same for what is to be changed.
    pub(crate) fn of_mut<'l, T>(&self, all: &'l mut [T]) -> &'l mut [T] {
        all.get_mut(self.first_leaf..self.first_leaf + self.leaf_count)
            .unwrap_or_default()
    }
}

/// What was prepared for other sites and can be used again.
#[derive(Debug, Default)]
pub(crate) struct SiteMemory {
    layouts: Mutex<LayoutMemory>,
    globals: Mutex<HashMap<(u32, usize), Arc<GlobalsOfUnit>>>,
}

type LayoutMemory = HashMap<(EntryId, usize), Result<Arc<Layout>, Damage>>;

impl Site {
    /// The scalar parts of all variables, in the order of [`Image::observe`](crate::Image::observe)'s output.
    pub fn leaves(&self) -> Leaves<'_> {
        Leaves {
            own: &self.own.leaves,
            globals: &self.globals.leaves,
        }
    }

    /// In what sort of place a leaf is here.
    pub fn storage(&self, leaf: usize) -> Storage {
        let Some(known) = self.variable_of(leaf) else {
            return Storage::Elsewhere;
        };
        let memory = match &known.place {
            Place::Static(_) | Place::Frame(_) | Place::Memory { .. } => true,
            Place::Program(program) => program.is_memory(),
            _ => false,
        };
        match memory {
            true => Storage::Memory,
            false => Storage::Elsewhere,
        }
    }

    /// The variables of its functions that are not looked at in full (C).
    pub fn omitted(&self) -> &[Omitted] {
        &self.own.omitted
    }

    /// The same of the unit, shared with other sites.
    pub fn omitted_globals(&self) -> &Arc<[Omitted]> {
        &self.globals.fixed.omitted
    }

    pub(crate) fn variable_of(&self, leaf: usize) -> Option<&Known> {
        let (variables, leaf) = match leaf.checked_sub(self.own.leaves.len()) {
            None => (&self.own.variables, leaf),
            Some(leaf) => (&self.globals.fixed.variables, leaf),
        };
        let after = variables.partition_point(|variable| variable.first_leaf <= leaf);
        let variable = variables[..after].last()?;
        (leaf < variable.first_leaf + variable.leaf_count).then_some(&*variable.known)
    }
}

impl SiteMemory {
    fn layout(&self, units: &Units, ty: EntryId, cap: usize) -> Result<Arc<Layout>, Damage> {
        let memory = || self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = memory().get(&(ty, cap)) {
            return known.clone();
        }
        let new = layout(units, ty, cap).map(Arc::new);
        memory().insert((ty, cap), new.clone());
        new
    }

    /// The globals of a unit, from memory unless one of them is at different places at different addresses.
    fn globals(
        &self,
        units: &Units,
        unit: u32,
        pc: u64,
        cap: usize,
    ) -> Result<Arc<GlobalsOfUnit>, Error> {
        let memory = || self.globals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = memory().get(&(unit, cap)) {
            return Ok(known.clone());
        }
        let candidates = globals(units, unit)?;
        let moves = |candidate: &Candidate| {
            let location = units.inherited(candidate.entry, dw::DW_AT_location);
            location.is_some_and(|(_, value)| value.exprloc_value().is_none())
        };
        let fixed = !candidates.iter().any(moves);
        let mut block = Block::default();
        for candidate in candidates {
            block.add(units, self, candidate, pc, cap);
        }
        let globals = Arc::new(GlobalsOfUnit::new(block));
        if fixed {
            memory().insert((unit, cap), globals.clone());
        }
        Ok(globals)
    }
}

/// Prepares a site.
pub(crate) fn prepare(
    units: &Units,
    frames: &Frames,
    memory: &SiteMemory,
    pc: Svma,
    options: &SiteOptions,
) -> Result<Site, Error> {
    let shown = if options.all_frames { usize::MAX } else { 1 };
    prepare_depths(units, frames, memory, pc, options, 0..shown)
}

/// The same with the variables of the functions at some depths only.
pub(crate) fn prepare_depths(
    units: &Units,
    frames: &Frames,
    memory: &SiteMemory,
    pc: Svma,
    options: &SiteOptions,
    depths: Range<usize>,
) -> Result<Site, Error> {
    let scope = Scope::at(units, frames, pc.0)?.ok_or(Error::NoFunction { pc })?;
    let line = units
        .lines(scope.function.unit)?
        .at(pc.0)
        .and_then(|row| row.line);
    let instances = instances(units, scope.function, pc.0)?;
    let innermost = instances
        .first()
        .and_then(|scopes| scopes.first())
        .copied()
        .unwrap_or(scope.function);
    let function = units.name(innermost).unwrap_or_else(|| Arc::from("?"));
    let mut candidates = Vec::new();
    let wanted = instances.iter().enumerate();
    for (depth, scopes) in wanted.take(depths.end).skip(depths.start) {
        let depth = u16::try_from(depth).unwrap_or(u16::MAX);
        locals(units, scopes, depth, &mut candidates)?;
    }
    let globals = if options.globals {
        let innermost = candidates.iter().filter(|candidate| candidate.depth == 0);
        memory
            .globals(units, scope.function.unit, pc.0, options.leaf_cap)?
            .beside(innermost.map(|candidate| candidate.name.clone()))
    } else {
        Arc::default()
    };
    let mut own = Block::default();
    for candidate in candidates {
        own.add(units, memory, candidate, pc.0, options.leaf_cap);
    }
    Ok(Site {
        pc,
        function: function.to_string(),
        line,
        scope,
        own,
        globals,
    })
}

impl Block {
    fn add(
        &mut self,
        units: &Units,
        memory: &SiteMemory,
        candidate: Candidate,
        pc: u64,
        cap: usize,
    ) {
        let Some((owner, reference)) = units.inherited(candidate.entry, dw::DW_AT_type) else {
            return;
        };
        let layout = units
            .resolve(owner.unit, reference)
            .and_then(|ty| memory.layout(units, ty, cap));
        let (layout, place, text) = match layout {
            Ok(layout) => {
                let (place, text) = Place::of_variable(units, candidate.entry, pc, 0, &budget());
                (layout, place, text)
            }
            // A variable whose type cannot be read is reported as one leaf, so that it is reported at all.
            Err(Damage(why)) => {
                let shape = Shape {
                    path: "".into(),
                    kind: ScalarKind::Unsigned,
                    signed: false,
                    bit_offset: 0,
                    bit_size: 0,
                    route: None,
                };
                let layout = Arc::new(Layout {
                    shapes: vec![shape],
                    ..Layout::default()
                });
                (
                    layout,
                    Place::IllFormed(Arc::from(format!("type: {why}"))),
                    Text::None,
                )
            }
        };
        let parameter = units
            .tag(candidate.entry)
            .is_ok_and(|tag| tag == dw::DW_TAG_formal_parameter);
        if !layout.omissions.is_empty() {
            self.omitted.push(Omitted {
                function: candidate.function.clone(),
                variable: candidate.name.clone(),
                decl_line: candidate.decl_line,
                depth: candidate.depth,
                parameter,
                reasons: layout.omissions.iter().copied().collect(),
            });
        }
        if layout.shapes.is_empty() {
            return;
        }
        let count = layout
            .length
            .map(|length| Count::new(units, length, candidate.entry, pc));
        let first_leaf = self.leaves.len();
        self.leaves.extend(layout.shapes.iter().map(|shape| Leaf {
            key: LeafKey {
                function: candidate.function.clone(),
                variable: candidate.name.clone(),
                decl_line: candidate.decl_line,
                path: shape.path.clone(),
                depth: candidate.depth,
            },
            kind: shape.kind,
            signed: shape.signed,
            bit_offset: shape.bit_offset,
            bit_size: shape.bit_size,
            shadowed: candidate.shadowed,
            parameter,
            route: shape.route.clone(),
            owning: layout.owning.clone(),
        }));
        let inside = |shape: &&Shape| {
            let route = shape.route.as_ref();
            !route.is_some_and(|route| route.leaves_variable())
        };
        let end = layout
            .shapes
            .iter()
            .filter(inside)
            .map(|shape| shape.bit_offset.saturating_add(shape.bit_size.into()))
            .max()
            .unwrap_or(0);
        self.variables.push(Variable {
            first_leaf,
            leaf_count: layout.shapes.len(),
            known: Arc::new(Known {
                reach: end.div_ceil(8),
                place,
                text,
                count,
            }),
        });
    }
}

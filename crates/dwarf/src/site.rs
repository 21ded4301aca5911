//! Everything visible at one address: the innermost function, the blocks around the address, their variables, and where
//! each of them is. Prepared once; [`Image::observe`](crate::Image::observe) evaluates it at each visit.

use std::collections::HashSet;
use std::sync::Arc;

use gimli::constants as dw;

use crate::cfi::Frames;
use crate::expression::budget;
use crate::frame::Scope;
use crate::layout::{Layout, Shape};
use crate::place::{Place, Text};
use crate::tree::Damage;
use crate::units::{EntryId, Units};
use crate::{Error, Leaf, LeafKey, Line, ScalarKind, Svma};

/// Nested blocks and inlined calls around one address.
const MAX_SCOPES: usize = 10_000;

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
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) variables: Vec<Variable>,
}

/// A variable of a site.
#[derive(Debug)]
pub(crate) struct Variable {
    /// Its leaves are those from here to the next variable's first.
    pub(crate) first_leaf: usize,
    pub(crate) leaf_count: usize,
    /// Bytes from its start to the end of its last leaf.
    pub(crate) reach: u64,
    pub(crate) place: Place,
    pub(crate) text: Text,
}

impl Site {
    /// The scalar parts of all variables, in the order of [`Image::observe`](crate::Image::observe)'s output.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    pub(crate) fn variable_of(&self, leaf: usize) -> Option<&Variable> {
        let after = self
            .variables
            .partition_point(|variable| variable.first_leaf <= leaf);
        self.variables[..after]
            .iter()
            .rev()
            .find(|variable| leaf < variable.first_leaf + variable.leaf_count)
    }
}

/// A variable that was found, before its type is looked at.
struct Candidate {
    entry: EntryId,
    name: Arc<str>,
    function: Option<Arc<str>>,
    decl_line: Line,
    depth: u16,
    shadowed: bool,
}

/// Gives the layout of a type, from memory if it was asked for before.
pub(crate) type Layouts<'a> = &'a dyn Fn(EntryId, usize) -> Result<Arc<Layout>, Damage>;

/// Prepares a site.
pub(crate) fn prepare(
    units: &Units,
    frames: &Frames,
    layouts: Layouts<'_>,
    pc: Svma,
    options: &SiteOptions,
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
    let shown = if options.all_frames {
        instances.len()
    } else {
        1
    };
    let mut candidates = Vec::new();
    for (depth, scopes) in (0u16..).zip(instances.iter().take(shown)) {
        locals(units, scopes, depth, &mut candidates)?;
    }
    if options.globals {
        globals(units, scope.function.unit, &mut candidates)?;
    }
    let mut site = Site {
        pc,
        function: function.to_string(),
        line,
        scope,
        leaves: Vec::new(),
        variables: Vec::new(),
    };
    for candidate in candidates {
        site.add(units, layouts, candidate, options.leaf_cap);
    }
    Ok(site)
}

/// The scopes around an address, grouped by function instance, the innermost instance first. Each group starts with the
/// (inlined) function itself.
fn instances(units: &Units, function: EntryId, pc: u64) -> Result<Vec<Vec<EntryId>>, Error> {
    let tree = units.tree(function.unit)?;
    let mut groups = vec![vec![function]];
    let mut open = vec![function];
    let mut visited = 0;
    while let Some(parent) = open.pop() {
        for index in tree.children(parent.index) {
            let id = EntryId {
                unit: parent.unit,
                index,
            };
            let tag = tree.entry(index).tag;
            let inlined = tag == dw::DW_TAG_inlined_subroutine;
            if !inlined
                && !matches!(
                    tag,
                    dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block
                )
            {
                continue;
            }
            let around = match units.ranges(id) {
                Ok(Some(ranges)) => ranges.iter().any(|(start, end)| *start <= pc && pc < *end),
                // A block without addresses wraps nothing: what is in it belongs to the scope around it.
                Ok(None) => !inlined,
                Err(_) => false,
            };
            if around {
                visited += 1;
                if visited > MAX_SCOPES {
                    return Err(Error::TooLarge {
                        what: "the nesting of scopes".into(),
                        limit: MAX_SCOPES as u64,
                    });
                }
                match groups.last_mut() {
                    Some(group) if !inlined => group.push(id),
                    _ => groups.push(vec![id]),
                }
                open.push(id);
            }
        }
    }
    groups.reverse();
    Ok(groups)
}

fn is_variable(tag: gimli::DwTag) -> bool {
    matches!(tag, dw::DW_TAG_variable | dw::DW_TAG_formal_parameter)
}

/// The variables of one function instance, innermost block first, then those that only its abstract instance has.
fn locals(
    units: &Units,
    scopes: &[EntryId],
    depth: u16,
    out: &mut Vec<Candidate>,
) -> Result<(), Error> {
    let Some(&instance) = scopes.first() else {
        return Ok(());
    };
    let function = units.name(instance);
    let mut names = HashSet::new();
    let mut keys = HashSet::new();
    let mut add = |entry: EntryId, hides: bool| {
        let hidden = [dw::DW_AT_declaration, dw::DW_AT_artificial];
        if hidden
            .iter()
            .any(|name| units.inherited(entry, *name).is_some())
        {
            return;
        }
        let Some(name) = units.name(entry) else {
            return;
        };
        let decl_line = units.decl_line(entry).unwrap_or(Line(0));
        if !keys.insert((name.clone(), decl_line)) {
            return;
        }
        let shadowed = hides && !names.insert(name.clone());
        out.push(Candidate {
            entry,
            name,
            function: function.clone(),
            decl_line,
            depth,
            shadowed,
        });
    };
    let tree = units.tree(instance.unit)?;
    for scope in scopes.iter().rev() {
        for index in tree
            .children(scope.index)
            .filter(|index| is_variable(tree.entry(*index).tag))
        {
            add(
                EntryId {
                    unit: instance.unit,
                    index,
                },
                true,
            );
        }
    }
    let Some(reference) = units.own(instance, dw::DW_AT_abstract_origin) else {
        return Ok(());
    };
    let Ok(origin) = units.resolve(instance.unit, reference) else {
        return Ok(());
    };
    // What some concrete entry of this instance stands for is in scope where that entry is, and nowhere else.
    let end = tree.entry(instance.index).end;
    let referenced: HashSet<EntryId> = (instance.index + 1..end)
        .filter(|index| is_variable(tree.entry(*index).tag))
        .filter_map(|index| {
            units.own(
                EntryId {
                    unit: instance.unit,
                    index,
                },
                dw::DW_AT_abstract_origin,
            )
        })
        .filter_map(|reference| units.resolve(instance.unit, reference).ok())
        .collect();
    let tree = units.tree(origin.unit)?;
    let mut next = origin.index + 1;
    while next < tree.entry(origin.index).end {
        let (index, entry) = (next, tree.entry(next));
        let nested = matches!(
            entry.tag,
            dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine
        );
        next = if nested {
            entry.end.max(index + 1)
        } else {
            index + 1
        };
        let id = EntryId {
            unit: origin.unit,
            index,
        };
        if is_variable(entry.tag) && !referenced.contains(&id) {
            add(id, false);
        }
    }
    Ok(())
}

/// The variables at file level of one unit.
fn globals(units: &Units, unit: u32, out: &mut Vec<Candidate>) -> Result<(), Error> {
    let tree = units.tree(unit)?;
    let local: HashSet<Arc<str>> = out
        .iter()
        .filter(|local| local.depth == 0)
        .map(|local| local.name.clone())
        .collect();
    let mut keys = HashSet::new();
    let mut open = vec![0];
    while let Some(parent) = open.pop() {
        for index in tree.children(parent) {
            let entry = EntryId { unit, index };
            match tree.entry(index).tag {
                dw::DW_TAG_namespace => open.push(index),
                dw::DW_TAG_variable if units.own(entry, dw::DW_AT_declaration).is_none() => {
                    let Some(name) = units.name(entry) else {
                        continue;
                    };
                    let decl_line = units.decl_line(entry).unwrap_or(Line(0));
                    if keys.insert((name.clone(), decl_line)) {
                        let shadowed = local.contains(&name);
                        out.push(Candidate {
                            entry,
                            name,
                            function: None,
                            decl_line,
                            depth: 0,
                            shadowed,
                        });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

impl Site {
    fn add(&mut self, units: &Units, layouts: Layouts<'_>, candidate: Candidate, cap: usize) {
        let Some((owner, reference)) = units.inherited(candidate.entry, dw::DW_AT_type) else {
            return;
        };
        let layout = units
            .resolve(owner.unit, reference)
            .and_then(|ty| layouts(ty, cap));
        let (layout, place, text) = match layout {
            Ok(layout) => {
                let (place, text) =
                    Place::of_variable(units, candidate.entry, self.pc.0, 0, &budget());
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
                };
                let layout = Arc::new(Layout {
                    size: 0,
                    shapes: vec![shape],
                });
                (
                    layout,
                    Place::IllFormed(Arc::from(format!("type: {why}"))),
                    Text::None,
                )
            }
        };
        if layout.shapes.is_empty() {
            return;
        }
        let first_leaf = self.leaves.len();
        let parameter = units
            .tag(candidate.entry)
            .is_ok_and(|tag| tag == dw::DW_TAG_formal_parameter);
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
        }));
        let end = layout
            .shapes
            .iter()
            .map(|shape| shape.bit_offset.saturating_add(shape.bit_size.into()))
            .max()
            .unwrap_or(0);
        self.variables.push(Variable {
            first_leaf,
            leaf_count: layout.shapes.len(),
            reach: end.div_ceil(8),
            place,
            text,
        });
    }
}

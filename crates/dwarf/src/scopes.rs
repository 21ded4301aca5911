//! Which variables are visible at an address: the blocks and inlined calls around it, and what they declare.

use std::collections::HashSet;
use std::sync::Arc;

use gimli::constants as dw;

use crate::units::{EntryId, Units};
use crate::{Error, Line};

/// Nested blocks and inlined calls around one address.
const MAX_SCOPES: usize = 10_000;

/// A variable that was found, before its type is looked at.
pub(crate) struct Candidate {
    pub(crate) entry: EntryId,
    pub(crate) name: Arc<str>,
    pub(crate) function: Option<Arc<str>>,
    pub(crate) decl_line: Line,
    pub(crate) depth: u16,
    pub(crate) shadowed: bool,
}

/// The scopes around an address, grouped by function instance, the innermost instance first. Each group starts with the
/// (inlined) function itself.
pub(crate) fn instances(
    units: &Units,
    function: EntryId,
    pc: u64,
) -> Result<Vec<Vec<EntryId>>, Error> {
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
pub(crate) fn locals(
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

/// The variables at file level of one unit. Which of them are hidden depends on the address and is told later.
pub(crate) fn globals(units: &Units, unit: u32) -> Result<Vec<Candidate>, Error> {
    let tree = units.tree(unit)?;
    let mut found = Vec::new();
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
                    // rustc's tables of methods are variables to DWARF, and nothing to a user
                    if name.contains("{vtable") {
                        continue;
                    }
                    let decl_line = units.decl_line(entry).unwrap_or(Line(0));
                    if keys.insert((name.clone(), decl_line)) {
                        found.push(Candidate {
                            entry,
                            name,
                            function: None,
                            decl_line,
                            depth: 0,
                            shadowed: false,
                        });
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

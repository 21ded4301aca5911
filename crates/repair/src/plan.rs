//! What is said of a function's variables now against what the proof says; the new location lists and the paper's counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use candor_dwarf::rewrite::{Change, Described, Location, OldPiece, Piece, Variable};
use candor_prove::Proof;
use candor_prove::image::{Code, Image};
use candor_prove::ir::Module;
use serde::Serialize;

use crate::expression::Expression;
use crate::spread::{Precision, Switches, spread};
use crate::variables::varying;

/// The paper's counts for one function (§V-A), over instructions and the variables in scope there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Instructions (T).
    pub instructions: usize,
    /// Instructions at which something is new (U).
    pub updated: usize,
    /// Variables of which something is new (V).
    pub variables: usize,
    /// Instruction and variable: something was said before (O).
    pub original: usize,
    /// Nothing was said before, something is now (M).
    pub missing: usize,
    /// A constant before, an expression over the machine now (I).
    pub constant: usize,
    /// A constant before that the proof shows to be wrong, nothing now.
    pub removed: usize,
    /// Instructions at which something was missing and is said now.
    pub missing_at: usize,
    /// Instructions at which a variable is in scope of which nothing was said: the most that `missing_at` can be.
    pub lacking_at: usize,
    /// Instructions at which something was wrongly constant and is an expression now.
    pub constant_at: usize,
    /// Values by precision: exact.
    pub exact: usize,
    /// Within the iterations that one vector instruction does at once.
    pub lanes: usize,
    /// Within the iterations that the machine does at once.
    pub within: usize,
    /// Instruction and variable in scope: nothing is said, before or after.
    pub none: usize,
}

/// An expression over a range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Span {
    /// First address, from the function's start.
    pub from: u64,
    /// Behind the last.
    pub to: u64,
    /// As a person writes it.
    pub text: String,
    /// How precise.
    pub precision: Precision,
}

/// A variable with what is new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// The line of its declaration.
    pub line: u64,
    /// What the proof gives.
    pub spans: Vec<Span>,
    /// What was said before and is taken away, in words.
    pub removed: Option<String>,
}

/// An instruction, and what is said of each variable there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// From the function's start.
    pub at: u64,
    /// As a disassembler prints it.
    pub text: String,
    /// By variable, as in [`Plan::columns`].
    pub shown: Vec<Shown>,
}

/// What is said of a variable at an instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Before; empty: nothing.
    pub before: String,
    /// After; empty: nothing.
    pub after: String,
    /// How precise the new value is, where it is new.
    pub precision: Option<Precision>,
    /// Whether the variable is in scope.
    pub in_scope: bool,
}

/// What is to be changed for one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The function.
    pub function: String,
    /// Variables with something new.
    pub variables: Vec<Planned>,
    /// The paper's counts.
    pub counts: Counts,
    /// All variables of the function, by name.
    #[serde(skip)]
    pub columns: Vec<String>,
    /// Every instruction with what is said of each of them.
    #[serde(skip)]
    pub listing: Vec<Listed>,
    /// For the rewriter.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// Expression and precision by offset from the function's start.
type Ours = BTreeMap<u64, (Expression, Precision)>;

/// Plans the new locations of a function's variables; `Err`: why the proof does not belong to this file.
pub fn plan(
    image: &Image,
    module: &Module,
    proof: &Proof,
    described: &Described,
    relocatable: bool,
    switches: Switches,
) -> Result<Plan, String> {
    let code = image.code(&proof.function)?;
    let function = module
        .functions
        .iter()
        .find(|(name, _)| *name == proof.function)
        .and_then(|(_, parsed)| parsed.as_ref().ok())
        .ok_or_else(|| format!("the source does not define `{}`", proof.function))?;
    for node in &proof.nodes {
        if !code.heads.contains(&node.at) {
            return Err(format!(
                "the proof of `{}` is about another build: there is no loop head at {:#x}",
                proof.function, node.at
            ));
        }
    }
    // lldb 19 does not add where a program is loaded to an address inside a computed value
    let addresses = image.fixed || image.relocatable;
    let known = spread(&code, function, proof, switches, addresses);
    let varying = varying(function, &code, proof);
    let mut plan = Plan {
        function: proof.function.clone(),
        variables: Vec::new(),
        counts: Counts {
            instructions: code.ops.len(),
            ..Counts::default()
        },
        columns: Vec::new(),
        listing: code
            .ops
            .iter()
            .map(|(at, op)| Listed {
                at: at - code.start,
                text: candor_prove::image::listing(&op.raw),
                shown: Vec::new(),
            })
            .collect(),
        changes: Vec::new(),
    };
    let mut updated: BTreeSet<u64> = BTreeSet::new();
    let mut missing_at: BTreeSet<u64> = BTreeSet::new();
    let mut lacking_at: BTreeSet<u64> = BTreeSet::new();
    let mut constant_at: BTreeSet<u64> = BTreeSet::new();
    for variable in &described.variables {
        let Some(line) = variable.line else { continue };
        let key = (variable.name.clone(), line as u32);
        let ours: Ours = known
            .iter()
            .filter_map(|(at, facts)| Some((at - code.start, facts.get(&key)?.clone())))
            .filter(|(at, _)| variable.scope.iter().any(|range| range.contains(at)))
            .collect();
        let refuted: Vec<Range<u64>> = varying
            .get(&key)
            .into_iter()
            .flatten()
            .filter_map(|at| {
                let op = code.ops.get(at)?;
                let from = at - code.start;
                Some(from..from + op.raw.len() as u64)
            })
            .collect();
        let change = merged(image, &code, variable, &ours, &refuted, relocatable);
        plan.columns.push(variable.name.clone());
        for listed in &mut plan.listing {
            let at = listed.at;
            let in_scope = variable.scope.iter().any(|range| range.contains(&at));
            let before = variable.at(at);
            let new = ours.get(&at).filter(|_| change.is_some());
            let wrong = change.is_some()
                && before == Some(true)
                && refuted.iter().any(|range| range.contains(&at));
            if in_scope && before.is_none() {
                lacking_at.insert(at);
            }
            let said = variable.said(at);
            listed.shown.push(Shown {
                after: match new {
                    Some((expression, _)) => expression.show(image),
                    None if wrong => String::new(),
                    None => said.clone(),
                },
                before: said,
                precision: new.map(|(_, precision)| *precision),
                in_scope,
            });
            plan.counts.original += usize::from(before.is_some());
            let Some((expression, precision)) = new else {
                plan.counts.removed += usize::from(wrong);
                plan.counts.none += usize::from(in_scope && (before.is_none() || wrong));
                continue;
            };
            match precision {
                Precision::Exact => plan.counts.exact += 1,
                Precision::Lanes(_) => plan.counts.lanes += 1,
                Precision::Within(_) => plan.counts.within += 1,
            }
            updated.insert(at);
            if before.is_none() {
                plan.counts.missing += 1;
                missing_at.insert(at);
            } else if before == Some(true) && !expression.is_constant() {
                plan.counts.constant += 1;
                constant_at.insert(at);
            }
        }
        if let Some((change, removed)) = change {
            plan.counts.variables += 1;
            plan.variables.push(Planned {
                name: variable.name.clone(),
                line,
                spans: spans(&code, &ours)
                    .into_iter()
                    .map(|(pc, expression, precision)| Span {
                        from: pc.start,
                        to: pc.end,
                        text: expression.show(image),
                        precision,
                    })
                    .collect(),
                removed,
            });
            plan.changes.push(change);
        }
    }
    plan.counts.updated = updated.len();
    plan.counts.missing_at = missing_at.len();
    plan.counts.lacking_at = lacking_at.len();
    plan.counts.constant_at = constant_at.len();
    Ok(plan)
}

/// The new list of a variable, and what of the old one goes in words; `None` if nothing is new.
fn merged(
    image: &Image,
    code: &Code,
    variable: &Variable,
    ours: &Ours,
    refuted: &[Range<u64>],
    relocatable: bool,
) -> Option<(Change, Option<String>)> {
    let varies = !refuted.is_empty();
    let old: Vec<&OldPiece> = match &variable.location {
        Location::Missing | Location::Constant => Vec::new(),
        Location::Everywhere(piece) => vec![piece],
        Location::List(all) => all.iter().collect(),
    };
    // what cannot be put elsewhere stays where it is, and so does all that is said of such a variable
    if old.iter().any(|piece| piece.addresses.is_none()) {
        return None;
    }
    let overlaps = |piece: &OldPiece| {
        refuted
            .iter()
            .any(|range| range.start < piece.pc.end && piece.pc.start < range.end)
    };
    let mut removed = None;
    if variable.location == Location::Constant && varies {
        removed = Some("a constant over the whole scope".to_owned());
    } else if matches!(&variable.location, Location::Everywhere(piece) if piece.constant && varies)
        || old.iter().any(|piece| piece.constant && overlaps(piece))
    {
        removed = Some("a constant where the value varies".to_owned());
    }
    if removed.is_none() && (ours.is_empty() || variable.location == Location::Constant) {
        return None;
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for (pc, expression, _) in spans(code, ours) {
        let (bytes, addresses) = expression.encode(image, relocatable);
        pieces.push(Piece {
            pc,
            expression: bytes,
            addresses,
        });
    }
    let new: Vec<Range<u64>> = pieces.iter().map(|piece| piece.pc.clone()).collect();
    for piece in old {
        let everywhere = matches!(variable.location, Location::Everywhere(_));
        let ranges = if everywhere {
            variable.scope.clone()
        } else {
            vec![piece.pc.clone()]
        };
        let mut taken = new.clone();
        if piece.constant {
            taken.extend(refuted.iter().cloned());
        }
        for range in ranges {
            for pc in without(range, &taken) {
                pieces.push(Piece {
                    pc,
                    expression: piece.expression.clone(),
                    addresses: piece.addresses.clone().unwrap_or_default(),
                });
            }
        }
    }
    pieces.sort_by_key(|piece| piece.pc.start);
    // values of different precision may be the same expression
    pieces.dedup_by(|next, last| {
        let goes_on = last.pc.end == next.pc.start
            && last.expression == next.expression
            && last.addresses == next.addresses;
        if goes_on {
            last.pc.end = next.pc.end;
        }
        goes_on
    });
    let change = Change {
        entry: variable.entry,
        pieces,
    };
    Some((change, removed))
}

/// Runs of instructions with the same expression.
fn spans(code: &Code, ours: &Ours) -> Vec<(Range<u64>, Expression, Precision)> {
    let mut all: Vec<(Range<u64>, Expression, Precision)> = Vec::new();
    for (at, (expression, precision)) in ours {
        let Some(op) = code.ops.get(&(at + code.start)) else {
            continue;
        };
        let end = at + op.raw.len() as u64;
        match all.last_mut() {
            Some((range, last, rank))
                if range.end == *at && last == expression && rank == precision =>
            {
                range.end = end;
            }
            _ => all.push((*at..end, expression.clone(), *precision)),
        }
    }
    all
}

/// A range without others.
fn without(range: Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = vec![range];
    for other in others {
        left = left
            .into_iter()
            .flat_map(|range| {
                [
                    range.start..range.end.min(other.start),
                    range.start.max(other.end)..range.end,
                ]
            })
            .filter(|range| range.start < range.end)
            .collect();
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_where_others_are() {
        assert_eq!(without(0..10, &[2..4, 4..6]), [0..2, 6..10]);
        assert_eq!(without(3..5, &[0..4, 4..9]), []);
        assert_eq!(without(3..9, &[7..8, 0..4]), [4..7, 8..9]);
    }
}

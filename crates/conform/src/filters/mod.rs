//! Named rules that keep known noise out of the report, one file each, each able to be switched off.
//!
//! A filter either refuses a *source* (then the next source rule is asked) or a *verdict*. What it
//! removes is counted by name, so that a report says what it leaves out.

mod agreement;
mod alternatives;
mod assumption;
mod bulk_move;
mod dead_code;
mod evidence;
mod explicit_source;
mod growing_terminator;
mod infrastructure;
mod located;
mod merge_kinds;
mod moved_phi;
mod no_result;
mod one_pass;
mod operation;
mod passed_source;
mod phi_elsewhere;
mod phi_source;
mod same_block;
mod same_function;
mod stack_slot;
mod traps;
mod unreachable;

use crate::update::{Candidate, Required, Update};

/// What seems wrong with an update.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It has a location that it should not have.
    ShouldDrop,
    /// It has one source's location where all should be merged.
    ShouldMerge,
    /// It has no location where it should.
    Lost,
}

impl Class {
    /// The paper's bug class.
    pub fn bug(self) -> &'static str {
        match self {
            Class::ShouldDrop | Class::ShouldMerge => "incorrect",
            Class::Lost => "lost",
        }
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Class::ShouldDrop => "should drop",
            Class::ShouldMerge => "should merge",
            Class::Lost => "lost",
        })
    }
}

/// A verdict about to be given.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// On what.
    pub update: &'a Update,
    /// By which sources.
    pub candidate: &'a Candidate,
    /// What seems wrong.
    pub class: Class,
    /// What it should undergo.
    pub required: Required,
    /// The pipeline it happened in.
    pub pipeline: &'a str,
    /// Names of the functions on the stack, innermost first; unnamed ones are empty.
    pub callers: &'a [String],
}

/// What a filter thinks of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// It is one.
    Fine,
    /// It is none; the next rule may have one.
    Refused,
    /// It is none, and no later rule can have one.
    RefusedForGood,
}

/// One named rule.
pub trait Filter: Sync {
    /// As `--without` takes it.
    fn name(&self) -> &'static str;
    /// One sentence.
    fn about(&self) -> &'static str;
    /// Whether `candidate` is a source at all.
    fn source(&self, _update: &Update, _candidate: &Candidate) -> Opinion {
        Opinion::Fine
    }
    /// Whether the verdict is noise.
    fn noise(&self, _case: &Case<'_>) -> bool {
        false
    }
    /// Whether what it removes is kept as a low class instead of going away.
    fn lowers(&self) -> bool {
        false
    }
}

/// Every filter, in the order in which they are asked.
pub const ALL: [&dyn Filter; 23] = [
    &one_pass::OnePass,
    &same_function::SameFunction,
    &assumption::Assumption,
    &dead_code::DeadCode,
    &infrastructure::Infrastructure,
    &evidence::NeighbourEvidence,
    &no_result::NoResult,
    &phi_source::PhiSource,
    &growing_terminator::GrowingTerminator,
    &agreement::Agreement,
    &traps::Traps,
    &same_block::SameBlock,
    &bulk_move::BulkMove,
    &explicit_source::ExplicitSource,
    &passed_source::PassedSource,
    &merge_kinds::MergeKinds,
    &alternatives::Alternatives,
    &operation::NoOperation,
    &located::LocatedThen,
    &unreachable::Unreachable,
    &stack_slot::StackSlot,
    &moved_phi::MovedPhi,
    &phi_elsewhere::PhiElsewhere,
];

/// The filters that are on.
#[derive(Clone)]
pub struct Filters(Vec<&'static dyn Filter>);

impl std::fmt::Debug for Filters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|one| one.name()))
            .finish()
    }
}

impl Default for Filters {
    fn default() -> Self {
        Filters(ALL.to_vec())
    }
}

impl Filters {
    /// All but the named ones. An unknown name gives the known ones.
    pub fn without(names: &[String]) -> Result<Self, crate::Error> {
        for name in names {
            if !ALL.iter().any(|one| one.name() == name) {
                return Err(crate::Error::UnknownFilter {
                    name: name.clone(),
                    known: ALL.map(|one| one.name()).join(", "),
                });
            }
        }
        let kept = |one: &&dyn Filter| !names.iter().any(|name| name == one.name());
        Ok(Filters(ALL.into_iter().filter(kept).collect()))
    }

    /// No filter at all.
    pub fn none() -> Self {
        Filters(Vec::new())
    }

    /// Whether the named filter is on.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.name() == name)
    }

    /// The first opinion against a source.
    pub fn source(
        &self,
        update: &Update,
        candidate: &Candidate,
    ) -> Option<(&'static str, Opinion)> {
        self.0
            .iter()
            .find_map(|one| match one.source(update, candidate) {
                Opinion::Fine => None,
                other => Some((one.name(), other)),
            })
    }

    /// The first filter that takes a verdict for noise.
    pub fn noise(&self, case: &Case<'_>) -> Option<&'static dyn Filter> {
        self.0.iter().copied().find(|one| one.noise(case))
    }
}

/// Whether the paths require Drop, as far as `filters` trust them.
pub fn must_drop(filters: &Filters, candidate: &Candidate) -> bool {
    use crate::paths::Avoid;
    if filters.has(same_block::SameBlock.name()) && candidate.same_block {
        return false;
    }
    let avoided = match candidate.avoid {
        Avoid::Yes => true,
        Avoid::OnlyTraps => !filters.has(traps::Traps.name()),
        Avoid::No | Avoid::Unknown => false,
    };
    let agreed = match filters.has(agreement::Agreement.name()) {
        true => candidate.all_drop(),
        false => candidate.any_drop(),
    };
    avoided || agreed
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;
    use crate::paths::Avoid;
    use crate::update::{Effect, Evidence, Operation, Origin, Rule, Source};
    use candor_llvm::{Location, Opcode};

    /// A branch created without a location in place of another.
    pub fn lost() -> Update {
        Update {
            number: 1,
            function: "f".into(),
            block: "entry".into(),
            text: "br label %a".into(),
            opcode: Opcode(2),
            location: Location::None,
            origin: Origin::Created,
            operation: Operation::Nothing,
            candidates: vec![candidate(Rule::T)],
            moved_alone: false,
            moved_in_bulk: false,
            dead: false,
            assumption: false,
            stack: Vec::new(),
            move_stack: Vec::new(),
        }
    }

    /// An addition hoisted with its location.
    pub fn hoisted() -> Update {
        let mut update = lost();
        update.text = "%x = add i32 %a, 1".into();
        update.opcode = Opcode(8);
        update.location = Location::Line(3);
        update.origin = Origin::Moved;
        update.operation = Operation::Kept;
        update.moved_alone = true;
        let mut one = candidate(Rule::P);
        one.readings = [Required::Drop; 3];
        one.avoid = Avoid::Yes;
        one.effect = Effect::Same;
        update.candidates = vec![one];
        update
    }

    pub fn candidate(rule: Rule) -> Candidate {
        Candidate {
            rule,
            sources: vec![Source {
                block: "entry".into(),
                opcode: Opcode(2),
                location: Location::Line(3),
            }],
            readings: [Required::Preserve; 3],
            avoid: Avoid::No,
            effect: Effect::Nothing,
            located_then: true,
            same_block: false,
            same_function: true,
            evidence: Evidence::default(),
            grows: false,
            precedes: false,
            alternatives: true,
        }
    }

    pub fn case(update: &Update, class: Class) -> Case<'_> {
        Case {
            update,
            candidate: &update.candidates[0],
            class,
            required: Required::Preserve,
            pipeline: "simplifycfg",
            callers: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_unknown_ones_are_refused() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), ALL.len());
        let some = Filters::without(&["one-pass".to_owned()]).unwrap();
        assert!(!some.has("one-pass") && some.has("assumption"));
        let error = Filters::without(&["noise".to_owned()])
            .unwrap_err()
            .to_string();
        assert!(error.contains("one-pass"), "{error}");
    }
}

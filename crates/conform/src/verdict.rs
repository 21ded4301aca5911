//! From an update to a verdict: which rule's sources decide, what they require, and how sure we are
//! (Algorithm 3's comparison, paper 002, section 3.3).

use std::collections::BTreeMap;

use candor_llvm::Location;

use crate::filters::{Case, Class, Filters, Opinion, must_drop};
use crate::paths::Avoid;
use crate::update::{Candidate, Effect, Operation, Origin, Required, Rule, Update};

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Shown with `--all` only.
    Low,
    /// One kind of evidence.
    Medium,
    /// Independent kinds of evidence agree.
    High,
}

impl std::fmt::Display for Confidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        })
    }
}

/// What is wrong with one update.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Verdict {
    /// What kind of error.
    pub class: Class,
    /// What the location should undergo; `None` when no source is known.
    pub required: Option<Required>,
    /// Whose sources decided.
    pub rule: Rule,
    /// How sure.
    pub confidence: Confidence,
    /// Why that sure.
    pub reason: String,
}

/// What is on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Source rules.
    pub rules: Vec<Rule>,
    /// Filters.
    pub filters: Filters,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            rules: Rule::ALL.to_vec(),
            filters: Filters::default(),
        }
    }
}

/// How often each filter removed something.
pub type Removed = BTreeMap<&'static str, usize>;

/// The verdict on one update, if any.
pub fn verdict(
    update: &Update,
    settings: &Settings,
    pipeline: &str,
    callers: &[String],
    removed: &mut Removed,
) -> Option<Verdict> {
    let deciding = deciding(update, settings, removed);
    let explicit = || {
        let has_no_say = deciding.is_none_or(|one| one.effect == Effect::Other);
        let by_location = |one: &&Candidate| one.rule == Rule::S;
        update
            .candidates
            .iter()
            .filter(|_| has_no_say && settings.rules.contains(&Rule::S))
            .find(by_location)
    };
    for candidate in deciding.into_iter().chain(explicit()) {
        let Some((class, required)) = discrepancy(update, candidate, &settings.filters) else {
            continue;
        };
        let case = Case {
            update,
            candidate,
            class,
            required,
            pipeline,
            callers,
        };
        match settings.filters.noise(&case) {
            None => {
                let (confidence, reason) = confidence(&case);
                return Some(Verdict {
                    class,
                    required: Some(required),
                    rule: candidate.rule,
                    confidence,
                    reason,
                });
            }
            Some(filter) => {
                *removed.entry(filter.name()).or_default() += 1;
                if filter.lowers() {
                    return Some(Verdict {
                        class,
                        required: Some(required),
                        rule: candidate.rule,
                        confidence: Confidence::Low,
                        reason: filter.about().to_owned(),
                    });
                }
            }
        }
    }
    sourceless(update, settings, pipeline)
}

/// The first rule that has a source decides.
fn deciding<'a>(
    update: &'a Update,
    settings: &Settings,
    removed: &mut Removed,
) -> Option<&'a Candidate> {
    for candidate in &update.candidates {
        if candidate.rule == Rule::S || !settings.rules.contains(&candidate.rule) {
            continue;
        }
        match settings.filters.source(update, candidate) {
            None => return Some(candidate),
            Some((name, opinion)) => {
                *removed.entry(name).or_default() += 1;
                if opinion == Opinion::RefusedForGood {
                    return None;
                }
            }
        }
    }
    None
}

/// Algorithm 3: required against done.
fn discrepancy(
    update: &Update,
    candidate: &Candidate,
    filters: &Filters,
) -> Option<(Class, Required)> {
    let drop = must_drop(filters, candidate);
    match update.location {
        Location::None | Location::Zero => {
            // A source in the same block outweighs what the sets say.
            let doubtful =
                candidate.any_drop() && !(candidate.same_block && filters.has("same-block"));
            let required = match candidate.readings.contains(&Required::Merge) {
                true => Required::Merge,
                false => Required::Preserve,
            };
            (!drop && !doubtful).then_some((Class::Lost, required))
        }
        Location::Line(_) => {
            let from_source = matches!(candidate.effect, Effect::Same | Effect::One);
            // Merging the same line twice keeps it; that satisfies Drop as far as anybody can ask.
            if drop && from_source && update.operation != Operation::Merged {
                return Some((Class::ShouldDrop, Required::Drop));
            }
            let merge = candidate.effect == Effect::One
                && candidate.readings == [Required::Merge; 3]
                && update.operation != Operation::Merged;
            merge.then_some((Class::ShouldMerge, Required::Merge))
        }
    }
}

/// Rule C: new, without a location, nothing done, and no source.
fn sourceless(update: &Update, settings: &Settings, pipeline: &str) -> Option<Verdict> {
    let forgotten = update.location == Location::None
        && update.origin == Origin::Created
        && update.operation == Operation::Nothing;
    let wanted = settings.rules.contains(&Rule::C)
        && !(settings.filters.has("one-pass") && crate::pipeline::passes(pipeline).len() > 1);
    (forgotten && wanted).then(|| Verdict {
        class: Class::Lost,
        required: None,
        rule: Rule::C,
        confidence: Confidence::Low,
        reason: "created without a location; no source is known".to_owned(),
    })
}

fn confidence(case: &Case<'_>) -> (Confidence, String) {
    let candidate = case.candidate;
    let high = |reason: &str| (Confidence::High, reason.to_owned());
    let medium = |reason: &str| (Confidence::Medium, reason.to_owned());
    match (case.class, candidate.rule) {
        (Class::ShouldDrop, _) => match (candidate.all_drop(), candidate.avoid) {
            (true, Avoid::Yes) => {
                high("all three path readings, and a path that avoids the source")
            }
            (true, _) => medium("all three path readings"),
            (false, Avoid::OnlyTraps) => medium("a path to a trap avoids the source"),
            (false, _) => medium("a path through its block avoids the source"),
        },
        (Class::ShouldMerge, _) => high("several sources, one of whose locations it kept"),
        (Class::Lost, Rule::P) => high("it replaces the source"),
        (Class::Lost, Rule::T) => high("it replaces the block's terminator"),
        (Class::Lost, _) => match candidate.evidence.erased {
            true => high("created beside the source, which is gone"),
            false => medium("created beside the source, with which it shares values"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::fixture;

    fn judge(update: &Update) -> Option<Verdict> {
        verdict(
            update,
            &Settings::default(),
            "simplifycfg",
            &[],
            &mut Removed::new(),
        )
    }

    #[test]
    fn a_hoist_that_kept_its_location_should_drop() {
        let found = judge(&fixture::hoisted()).unwrap();
        assert_eq!(
            (found.class, found.required),
            (Class::ShouldDrop, Some(Required::Drop))
        );
        assert_eq!(found.confidence, Confidence::High);
    }

    #[test]
    fn a_hoist_that_dropped_or_merged_is_fine() {
        let mut update = fixture::hoisted();
        update.location = Location::None;
        update.operation = Operation::Dropped;
        update.candidates[0].effect = Effect::Nothing;
        assert_eq!(judge(&update), None);
        let mut update = fixture::hoisted();
        update.operation = Operation::Merged;
        assert_eq!(judge(&update), None);
    }

    #[test]
    fn a_forgotten_branch_is_lost() {
        let found = judge(&fixture::lost()).unwrap();
        assert_eq!(
            (found.class, found.required),
            (Class::Lost, Some(Required::Preserve))
        );
    }

    #[test]
    fn rules_can_be_switched_off() {
        let update = fixture::lost();
        let settings = Settings {
            rules: vec![Rule::P],
            ..Settings::default()
        };
        assert_eq!(
            verdict(&update, &settings, "gvn", &[], &mut Removed::new()),
            None
        );
        let settings = Settings {
            rules: vec![Rule::C],
            ..Settings::default()
        };
        let low = verdict(&update, &settings, "gvn", &[], &mut Removed::new()).unwrap();
        assert_eq!((low.confidence, low.required), (Confidence::Low, None));
    }

    #[test]
    fn what_filters_remove_is_counted() {
        let mut update = fixture::lost();
        update.candidates[0].located_then = false;
        let mut removed = Removed::new();
        let settings = Settings {
            rules: vec![Rule::T],
            ..Settings::default()
        };
        assert_eq!(verdict(&update, &settings, "gvn", &[], &mut removed), None);
        assert_eq!(removed, Removed::from([("located", 1)]));
    }

    /// The first rule with a source decides, even if it finds nothing wrong.
    #[test]
    fn earlier_rules_win() {
        let mut update = fixture::lost();
        let mut replaced = fixture::candidate(Rule::P);
        replaced.readings = [Required::Drop; 3];
        update.candidates.insert(0, replaced);
        let settings = Settings {
            rules: vec![Rule::P, Rule::T],
            ..Settings::default()
        };
        assert_eq!(
            verdict(&update, &settings, "gvn", &[], &mut Removed::new()),
            None
        );
    }
}

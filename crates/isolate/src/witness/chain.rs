//! Which rule next: Metropolis–Hastings over the rules' success so far (paper 003, §4.2.2).
//!
//! Rules are ranked by score: the mean distance of the last accepted witness from those before it, plus
//! the rate at which the rule's mutants were accepted. (Our copy of the paper has lost the sign between
//! the two; its text says that a rejected mutant changes "just the latter item", which fits a sum.) A
//! step proposes any rule; a better-placed one is taken, a worse one with probability (1-p)^(kb-ka), so
//! that a geometric distribution over places is the chain's equilibrium.

use super::rules::Rule;

/// How rules are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// By what they achieved (the paper's).
    #[default]
    MetropolisHastings,
    /// All alike: the paper's baseline DiWi_rand.
    Random,
}

#[derive(Clone, Debug)]
struct Standing {
    rule: Rule,
    distance: f64,
    tried: u32,
    accepted: u32,
    exhausted: bool,
}

impl Standing {
    fn score(&self) -> f64 {
        self.distance + f64::from(self.accepted) / f64::from(self.tried.max(1))
    }
}

/// The rules and where the chain is.
#[derive(Clone, Debug)]
pub struct Chain {
    /// By descending score.
    standings: Vec<Standing>,
    current: Option<Rule>,
    selection: Selection,
}

impl Chain {
    /// All rules alike at first.
    pub fn new(rules: Vec<Rule>, selection: Selection) -> Self {
        let standing = |rule| Standing {
            rule,
            distance: 0.0,
            tried: 0,
            accepted: 0,
            exhausted: false,
        };
        Chain {
            standings: rules.into_iter().map(standing).collect(),
            current: None,
            selection,
        }
    }

    /// The next rule to try; `None` when none has anything left.
    pub fn next(&mut self, random: &mut fastrand::Rng) -> Option<Rule> {
        let usable: Vec<usize> = (0..self.standings.len())
            .filter(|at| {
                self.standings
                    .get(*at)
                    .is_some_and(|standing| !standing.exhausted)
            })
            .collect();
        if usable.is_empty() {
            return None;
        }
        let propose =
            |random: &mut fastrand::Rng| usable.get(random.usize(..usable.len())).copied();
        let place = |rule: Rule| {
            self.standings
                .iter()
                .position(|standing| standing.rule == rule)
        };
        let here = self.current.and_then(place);
        let p = success(self.standings.len());
        let chosen = loop {
            let there = propose(random)?;
            let Some(here) = here.filter(|_| self.selection == Selection::MetropolisHastings)
            else {
                break there;
            };
            let worse = there.saturating_sub(here);
            if random.f64() < (1.0 - p).powi(i32::try_from(worse).unwrap_or(i32::MAX)) {
                break there;
            }
        };
        self.current = self.standings.get(chosen).map(|standing| standing.rule);
        self.current
    }

    /// What a rule's mutant came to: the distance of an accepted witness from those before it.
    pub fn record(&mut self, rule: Rule, accepted: Option<f64>) {
        if let Some(standing) = self
            .standings
            .iter_mut()
            .find(|standing| standing.rule == rule)
        {
            standing.tried += 1;
            if let Some(distance) = accepted {
                standing.accepted += 1;
                standing.distance = distance;
            }
        }
        // Stable: rules of equal score keep their order.
        self.standings
            .sort_by(|a, b| b.score().total_cmp(&a.score()));
    }

    /// A rule that has no untried mutant left.
    pub fn exhaust(&mut self, rule: Rule) {
        if let Some(standing) = self
            .standings
            .iter_mut()
            .find(|standing| standing.rule == rule)
        {
            standing.exhausted = true;
        }
    }

    /// New seeds: every rule may have something again.
    pub fn refill(&mut self) {
        for standing in &mut self.standings {
            standing.exhausted = false;
        }
    }
}

/// The geometric distribution's parameter: the first `rules` places hold 95 % of it.
fn success(rules: usize) -> f64 {
    1.0 - 0.05f64.powf(1.0 / rules.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::rules::all;
    use super::*;

    fn counts(selection: Selection, good: Rule) -> (usize, BTreeMap<Rule, usize>) {
        let mut chain = Chain::new(all(), selection);
        for _ in 0..5 {
            chain.record(good, Some(0.3));
        }
        for rule in all().into_iter().filter(|rule| *rule != good) {
            chain.record(rule, None);
        }
        let mut random = fastrand::Rng::with_seed(1);
        let mut counts = BTreeMap::new();
        for _ in 0..4000 {
            *counts.entry(chain.next(&mut random).unwrap()).or_default() += 1;
        }
        (counts.get(&good).copied().unwrap_or(0), counts)
    }

    #[test]
    fn successful_rules_are_chosen_more_often_and_no_rule_is_lost() {
        let good = *all().last().unwrap();
        let (guided, all_guided) = counts(Selection::MetropolisHastings, good);
        let (plain, _) = counts(Selection::Random, good);
        assert!(
            guided as f64 > 1.5 * plain as f64,
            "{guided} against {plain} of 4000"
        );
        assert!(
            all_guided.len() > 100,
            "only {} rules were ever chosen",
            all_guided.len()
        );
    }

    #[test]
    fn exhausted_rules_are_not_chosen_until_there_are_new_seeds() {
        let rules = vec![Rule::ReplaceVariable, Rule::RemoveStatement];
        let mut chain = Chain::new(rules, Selection::default());
        let mut random = fastrand::Rng::with_seed(2);
        chain.exhaust(Rule::ReplaceVariable);
        assert!((0..20).all(|_| chain.next(&mut random) == Some(Rule::RemoveStatement)));
        chain.exhaust(Rule::RemoveStatement);
        assert_eq!(chain.next(&mut random), None);
        chain.refill();
        assert!(chain.next(&mut random).is_some());
    }

    #[test]
    fn one_seed_makes_one_choice() {
        let run = || {
            let mut chain = Chain::new(all(), Selection::default());
            let mut random = fastrand::Rng::with_seed(7);
            (0..50)
                .filter_map(|_| chain.next(&mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(), run());
    }
}

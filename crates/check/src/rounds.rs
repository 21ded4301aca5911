//! Which builds a check makes of one program, and with which barriers.
//!
//! A barrier before every statement shows the most values, and stops the optimiser from doing much of what goes wrong:
//! loops are not deleted around a call, stores are not moved over it. So a check goes through rounds against one truth:
//!
//! - *quiet*: the program as it is, stopped where its statements survived ([`crate::quiet`]);
//! - *sparse*: at most one barrier per function, so that the optimiser works nearly as it always does;
//! - *all*: a barrier before every statement.
//!
//! The truth is recorded once, with all barriers: unoptimised, the value at a point does not depend on which others
//! have one. The calls of a sparse build are those of the full one at its points ([`crate::Truth::calls_at`]).

use std::collections::{BTreeMap, BTreeSet};

use candor_source::{Point, StatementKind, Unit};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// One way of looking at a program.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Round {
    /// No barrier at all.
    Quiet,
    /// At most one barrier per function.
    Sparse,
    /// A barrier before every statement.
    #[default]
    All,
    /// The barriers that the user chose.
    Chosen,
}

impl std::fmt::Display for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Round::Quiet => "quiet",
            Round::Sparse => "sparse",
            Round::All => "all",
            Round::Chosen => "chosen",
        })
    }
}

/// How much a check does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// The quiet and the full round: two builds per compiler and level.
    Quick,
    /// A bounded number of sparse builds besides.
    #[default]
    Normal,
    /// As many sparse builds as it takes for every point that is reached.
    Thorough,
}

/// Sparse builds per compiler and level with [`Effort::Normal`].
pub const NORMAL_SPARSE: usize = 8;

impl Effort {
    /// Sparse builds per compiler and level at most.
    pub fn sparse_builds(self) -> usize {
        match self {
            Effort::Quick => 0,
            Effort::Normal => NORMAL_SPARSE,
            Effort::Thorough => usize::MAX,
        }
    }
}

/// The barriers of the sparse builds, in the order in which they are to be made, and how many points that are reached
/// have their turn in none of them.
#[derive(Debug, Default)]
pub struct Sparse {
    /// Per build, the points.
    pub builds: Vec<Vec<usize>>,
    /// Points without a turn.
    pub left_out: usize,
}

/// Arranges the points of `plan` that are reached into at most `most` builds with one point per function each.
pub fn sparse(plan: &Plan, reached: &BTreeSet<usize>, most: usize) -> Sparse {
    let unit = &plan.unit;
    let mut builds: Vec<Vec<usize>> = Vec::new();
    if plan.has_own_barriers() && most > 0 {
        builds.push(Vec::new());
    }
    let own = builds.len();
    let mut by_function: BTreeMap<usize, Vec<&Point>> = BTreeMap::new();
    for point in plan.points() {
        if reached.contains(&point.id) && plan.chosen.contains(&point.id) {
            by_function.entry(point.function).or_default().push(point);
        }
    }
    let mut left_out = 0;
    for points in by_function.values_mut() {
        let ranks: BTreeMap<usize, (Promise, u32)> = (0u32..)
            .zip(points.iter())
            .map(|(place, point)| (point.id, (promise(unit, point), place.reverse_bits())))
            .collect();
        points.sort_by_key(|point| ranks.get(&point.id).copied());
        let room = most.saturating_sub(own);
        left_out += points.len().saturating_sub(room);
        for (place, point) in points.iter().take(room).enumerate() {
            match builds.get_mut(own + place) {
                Some(build) => build.push(point.id),
                None => builds.push(vec![point.id]),
            }
        }
    }
    for build in &mut builds {
        build.sort_unstable();
    }
    Sparse { builds, left_out }
}

/// How much a point promises: where optimisers move, merge and delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Promise {
    BehindLoop,
    BeforeReturn,
    AtJoin,
    InLoop,
    Other,
}

fn promise(unit: &Unit, point: &Point) -> Promise {
    use StatementKind::{Do, For, If, Loop, Match, Return, Switch, While};
    match before(unit, point).map(|before| before.statement) {
        Some(For | While | Do | Loop) => Promise::BehindLoop,
        _ if point.statement == Return => Promise::BeforeReturn,
        Some(If | Switch | Match) => Promise::AtJoin,
        _ if point.loop_depth > 0 => Promise::InLoop,
        _ => Promise::Other,
    }
}

/// The point of the statement right before, in the same block.
fn before<'u>(unit: &'u Unit, point: &Point) -> Option<&'u Point> {
    let neighbours = unit.points().points.get(..point.id)?.iter().rev();
    neighbours
        .take_while(|other| other.function == point.function)
        .filter(|other| other.depth == point.depth && other.span.end <= point.offset)
        .max_by_key(|other| other.span.end)
        .filter(|other| {
            let between = unit.text().get(other.span.end..point.offset);
            between.is_some_and(|between| !between.contains(['{', '}']))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PointChoice;
    use candor_source::Clang;
    use candor_toolchain::Program;
    use std::path::Path;

    const TEXT: &str = "int g;
int f(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += i;
  }
  g = s;
  if (n) {
    g++;
  }
  g--;
  return s;
}
int main(void) {
  f(3);
  return 0;
}
";

    fn plan() -> Plan {
        let clang = Clang::find().unwrap();
        let program = Program::from_text(Path::new("p.c"), TEXT.into());
        Plan::new(&clang, &program, &PointChoice::All).unwrap()
    }

    fn lines(plan: &Plan, build: &[usize]) -> Vec<u32> {
        build
            .iter()
            .map(|point| plan.points()[*point].line)
            .collect()
    }

    #[test]
    fn every_point_has_its_turn_and_the_promising_ones_first() {
        let plan = plan();
        let reached = plan.chosen.iter().copied().collect();
        let all = sparse(&plan, &reached, usize::MAX);
        assert_eq!(all.left_out, 0);
        let mut turns: Vec<usize> = all.builds.iter().flatten().copied().collect();
        turns.sort_unstable();
        assert_eq!(turns, plan.chosen, "each exactly once");
        for build in &all.builds {
            let functions: BTreeSet<usize> =
                build.iter().map(|p| plan.points()[*p].function).collect();
            assert_eq!(functions.len(), build.len(), "one per function");
        }
        // behind the loop, before the return, behind the branch
        assert_eq!(lines(&plan, &all.builds[0]), [7, 16]);
        assert_eq!(lines(&plan, &all.builds[1]), [12, 15]);
        assert_eq!(lines(&plan, &all.builds[2]), [11]);
    }

    #[test]
    fn what_has_no_turn_is_counted_and_what_is_not_reached_gets_none() {
        let plan = plan();
        let reached: BTreeSet<usize> = plan.chosen.iter().copied().collect();
        let few = sparse(&plan, &reached, 2);
        assert_eq!(few.builds.len(), 2);
        let turns: usize = few.builds.iter().map(Vec::len).sum();
        assert_eq!(few.left_out + turns, reached.len());
        let none = sparse(&plan, &BTreeSet::new(), 9);
        assert!(none.builds.is_empty());
        assert_eq!(sparse(&plan, &reached, 0).builds.len(), 0);
    }
}

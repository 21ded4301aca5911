//! Which of many switches cure: group testing instead of one by one.
//!
//! Few of some hundred options or passes cure anything, so many are switched off at once. A group
//! that leaves the claim standing holds no cure and is done with; one that cures, or that breaks the
//! build, is halved. Where one half of a curing group does not cure, the cure must be in the other,
//! which is halved at once (Hwang's generalised binary splitting); a switch convicted that way is
//! still tested alone before it is believed. Groups that cure while neither half does are *joint*
//! cures: several instances of one pass doing the same harm, for example.

use crate::Error;
use crate::probe::Seen;

/// What group testing found out about switches, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Each cures alone.
    pub cures: Vec<usize>,
    /// Groups that cure together while no part that was tried does.
    pub joint: Vec<Vec<usize>>,
    /// Alone, they break the build (mandatory passes), with what was seen.
    pub broken: Vec<(usize, String)>,
}

/// A group yet to be worked on.
#[derive(Clone, Debug)]
struct Group {
    members: Vec<usize>,
    /// Cures for sure, by the answers of others: no question is spent before halving.
    inferred: bool,
    /// Its whole family cures (tested), in case nothing smaller does.
    parent: Option<usize>,
}

/// Answers a batch of groups of switches.
pub type Ask<'a> = &'a mut dyn FnMut(&[Vec<usize>]) -> Result<Vec<Seen>, Error>;

/// Finds the cures among `count` switches. `test` answers a batch of groups; `size` is that of the
/// first groups. Results are ascending.
pub fn cures(count: usize, size: usize, test: Ask<'_>) -> Result<Outcome, Error> {
    let all: Vec<usize> = (0..count).collect();
    let mut front: Vec<Group> = all
        .chunks(size.max(1))
        .map(|members| Group {
            members: members.to_vec(),
            inferred: false,
            parent: None,
        })
        .collect();
    let mut outcome = Outcome::default();
    // curing groups that were halved: members, and whether something smaller in them cured
    let mut halved: Vec<(Vec<usize>, Option<usize>, bool)> = Vec::new();
    while !front.is_empty() {
        // Inferred groups are halved without a question, down to single switches.
        let (inferred, mut asked): (Vec<Group>, Vec<Group>) = front
            .into_iter()
            .partition(|group| group.inferred && group.members.len() > 1);
        let mut waiting: Vec<(Group, Group)> = Vec::new();
        for group in inferred {
            let (left, right) = halves(&group);
            asked.push(left.clone());
            waiting.push((left, right));
        }
        let questions: Vec<Vec<usize>> = asked.iter().map(|g| g.members.clone()).collect();
        let answers = test(&questions)?;
        let answer_of = |members: &[usize]| {
            questions
                .iter()
                .position(|question| question == members)
                .and_then(|at| answers.get(at))
        };
        let mut next = Vec::new();
        for (left, mut right) in waiting {
            // the cure is on the right if it is not on the left
            right.inferred = answer_of(&left.members) == Some(&Seen::Bad);
            next.push(right);
        }
        for (group, seen) in asked.into_iter().zip(&answers) {
            match (seen, group.members.as_slice()) {
                (Seen::Bad, _) => {}
                (Seen::Good, [one]) => {
                    outcome.cures.push(*one);
                    confirm(&mut halved, group.parent);
                }
                (Seen::Broken(words), [one]) => outcome.broken.push((*one, words.clone())),
                (Seen::Good, _) => {
                    confirm(&mut halved, group.parent);
                    halved.push((group.members.clone(), group.parent, false));
                    let parent = Some(halved.len() - 1);
                    next.push(Group {
                        inferred: true,
                        parent,
                        ..group
                    });
                }
                (Seen::Broken(_), _) => {
                    let (left, right) = halves(&group);
                    next.extend([left, right]);
                }
            }
        }
        front = next;
    }
    outcome.joint = halved
        .into_iter()
        .filter(|(_, _, smaller)| !smaller)
        .map(|(members, _, _)| members)
        .collect();
    outcome.cures.sort_unstable();
    outcome.broken.sort();
    outcome.joint.sort();
    Ok(outcome)
}

/// Marks the group from which a smaller cure came as explained, and those it came from itself.
fn confirm(halved: &mut [(Vec<usize>, Option<usize>, bool)], mut parent: Option<usize>) {
    while let Some((_, above, explained)) = parent.and_then(|at| halved.get_mut(at)) {
        *explained = true;
        parent = *above;
    }
}

fn halves(group: &Group) -> (Group, Group) {
    let (left, right) = group.members.split_at(group.members.len() / 2);
    let half = |members: &[usize]| Group {
        members: members.to_vec(),
        inferred: false,
        parent: group.parent,
    };
    (half(left), half(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(count: usize, size: usize, judge: impl Fn(&[usize]) -> Seen) -> (Outcome, usize) {
        let mut asked = 0;
        let outcome = cures(count, size, &mut |groups| {
            asked += groups.len();
            Ok(groups.iter().map(|group| judge(group)).collect())
        })
        .unwrap();
        (outcome, asked)
    }

    fn any_of(cures: &'static [usize]) -> impl Fn(&[usize]) -> Seen {
        move |group| {
            if group.iter().any(|one| cures.contains(one)) {
                Seen::Good
            } else {
                Seen::Bad
            }
        }
    }

    #[test]
    fn all_cures_are_found_with_a_fraction_of_the_questions() {
        for cures in [&[][..], &[0], &[239], &[7, 8], &[3, 90, 91, 200, 201]] {
            let (outcome, asked) = run(240, 32, any_of(cures));
            assert_eq!(outcome.cures, cures);
            assert!(outcome.joint.is_empty() && outcome.broken.is_empty());
            assert!(asked <= 8 + 10 * cures.len(), "{asked} for {cures:?}");
        }
        let all: Vec<usize> = (0..20).collect();
        assert_eq!(run(20, 8, |_| Seen::Good).0.cures, all);
    }

    #[test]
    fn switches_that_break_the_build_hide_no_cure() {
        let judge = |group: &[usize]| {
            if group.iter().any(|one| [5, 60].contains(one)) {
                Seen::Broken("crash".into())
            } else {
                any_of(&[6, 61, 100])(group)
            }
        };
        let (outcome, _) = run(128, 32, judge);
        assert_eq!(outcome.cures, [6, 61, 100]);
        let broken: Vec<usize> = outcome.broken.iter().map(|(one, _)| *one).collect();
        assert_eq!(broken, [5, 60]);
    }

    #[test]
    fn what_cures_only_together_is_named_together() {
        let judge = |group: &[usize]| {
            if group.contains(&40) && group.contains(&41) {
                Seen::Good
            } else {
                any_of(&[90])(group)
            }
        };
        let (outcome, _) = run(128, 16, judge);
        assert_eq!(outcome.cures, [90]);
        assert_eq!(outcome.joint.len(), 1);
        assert!(outcome.joint[0].contains(&40) && outcome.joint[0].contains(&41));
        assert!(outcome.joint[0].len() <= 2, "{:?}", outcome.joint);
    }
}

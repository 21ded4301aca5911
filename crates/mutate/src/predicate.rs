//! SynPred (paper 004, Algorithm 2): predicates with a wanted truth value in every row.

use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Expression};
use crate::expression;
use crate::integer::Binary;

/// Tries for one atom before a point is given up.
const TRIES: u32 = 40;
/// Deepest nesting of connectives.
pub const DEEPEST: u32 = 2;

/// A predicate and what it is known to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicate {
    /// As C text.
    pub text: String,
    /// Its value in every row.
    pub is: bool,
    /// Connectives on the longest path to an atom.
    pub depth: u32,
}

/// A predicate that is `wanted` in every row of `environment`, of a random depth; `None` when no atom was found.
pub fn synthesise(
    environment: &Environment,
    wanted: bool,
    random: &mut fastrand::Rng,
) -> Option<Predicate> {
    let depth = random.u32(0..=DEEPEST);
    build(environment, wanted, depth, random)
}

fn build(
    environment: &Environment,
    wanted: bool,
    depth: u32,
    random: &mut fastrand::Rng,
) -> Option<Predicate> {
    if depth == 0 {
        return atom(environment, wanted, random);
    }
    match random.u8(0..4) {
        0 => {
            let inner = build(environment, !wanted, depth - 1, random)?;
            Some(Predicate {
                text: format!("(!{})", inner.text),
                is: wanted,
                depth: inner.depth + 1,
            })
        }
        1 => connect(environment, "&&", wanted, depth, random),
        2 => connect(environment, "||", wanted, depth, random),
        _ => atom(environment, wanted, random),
    }
}

/// SynCon and SynDis: one is the other with true and false exchanged.
fn connect(
    environment: &Environment,
    connective: &str,
    wanted: bool,
    depth: u32,
    random: &mut fastrand::Rng,
) -> Option<Predicate> {
    // `&&` needs both sides when it is to hold, `||` when it is to fail.
    let all = connective == "&&";
    let (left, right) = if wanted == all {
        (wanted, wanted)
    } else if random.bool() {
        (!wanted, wanted)
    } else {
        (wanted, random.bool())
    };
    let left = build(environment, left, depth - 1, random)?;
    let right = build(environment, right, depth - 1, random)?;
    Some(Predicate {
        text: format!("({} {connective} {})", left.text, right.text),
        is: wanted,
        depth: left.depth.max(right.depth) + 1,
    })
}

fn atom(environment: &Environment, wanted: bool, random: &mut fastrand::Rng) -> Option<Predicate> {
    for _ in 0..TRIES {
        let pick = random.u8(0..10);
        let (left, right) =
            if !environment.intervals.is_empty() && (pick >= 6 || environment.columns.is_empty()) {
                if let Some(found) = interval_atom(environment, wanted, random) {
                    return Some(found);
                }
                continue;
            } else {
                let column = random.choice(&environment.columns)?.read();
                match pick {
                    0..5 => against_constant(column, random),
                    5..8 => {
                        let other = random.choice(&environment.columns)?;
                        if other.place.text == column.text {
                            continue;
                        }
                        (column, other.read())
                    }
                    _ => {
                        let left = expression::synthesise(environment, random);
                        against_constant(left, random)
                    }
                }
            };
        let mut operators = Binary::RELATIONAL;
        random.shuffle(&mut operators);
        let found = operators
            .into_iter()
            .filter_map(|operator| Expression::binary(operator, &left, &right))
            .find(|comparison| comparison.is_always(wanted));
        if let Some(comparison) = found {
            return Some(Predicate {
                text: comparison.text,
                is: wanted,
                depth: 0,
            });
        }
    }
    None
}

/// The expression and a constant near one of its values, or any.
fn against_constant(subject: Expression, random: &mut fastrand::Rng) -> (Expression, Expression) {
    let rows = subject.values.len();
    let near = random.choice(&subject.values).copied().unwrap_or_default();
    let value = match random.u8(0..10) {
        0..3 => near,
        3 | 4 => near + 1,
        5 => near - 1,
        6 => near + i128::from(random.i8(-20..=20)),
        _ => expression::constant(random),
    };
    let value = value.clamp(i64::MIN.into(), u64::MAX.into());
    let constant = Expression::constant(value, rows);
    if random.u8(0..10) < 3 {
        (constant, subject)
    } else {
        (subject, constant)
    }
}

/// An atom over a place of which only bounds are known. Sound because the comparison converts neither the bounds
/// nor the constant to other values, so that it is monotonic between the bounds.
fn interval_atom(
    environment: &Environment,
    wanted: bool,
    random: &mut fastrand::Rng,
) -> Option<Predicate> {
    let interval = random.choice(&environment.intervals)?;
    let (low, high) = (interval.low, interval.high);
    let value = *random.choice(&[low, high, low - 1, high + 1])?;
    let value = value.clamp(i64::MIN.into(), u64::MAX.into());
    let constant = Expression::constant(value, 2);
    let subject = Expression {
        text: interval.place.read(),
        ty: interval.place.scalar.read(),
        values: vec![low, high],
    };
    let common = subject.ty.usual(constant.ty);
    if ![low, high, value]
        .into_iter()
        .all(|v| common.convert(v) == v)
    {
        return None;
    }
    let mut operators = Binary::RELATIONAL;
    random.shuffle(&mut operators);
    let inside = (low..=high).contains(&value);
    operators
        .into_iter()
        .filter(|operator| !(inside && matches!(operator, Binary::Equal | Binary::NotEqual)))
        .filter_map(|operator| Expression::binary(operator, &subject, &constant))
        .find(|comparison| comparison.is_always(wanted))
        .map(|comparison| Predicate {
            text: comparison.text,
            is: wanted,
            depth: 0,
        })
}

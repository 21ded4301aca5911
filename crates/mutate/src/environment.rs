//! What is known at a point: the joint values of its places, and how expressions are evaluated over them.
//!
//! Paper 004 keeps one value set per variable and evaluates over their Cartesian product. Joint tuples are exact
//! where that product over-approximates, and never larger than what was seen.

use crate::integer::{Arithmetic, Binary, Scalar, Unary, literal};
use crate::place::Place;
use crate::probe::Seen;

/// A typed expression with its value in each row.
#[derive(Debug, Clone)]
pub struct Expression {
    /// As C text, safe as an operand.
    pub text: String,
    /// Its type.
    pub ty: Arithmetic,
    /// One value per row.
    pub values: Vec<i128>,
}

impl Expression {
    /// A constant.
    #[must_use]
    pub fn constant(value: i128, rows: usize) -> Self {
        let (text, ty) = literal(value);
        Self {
            text,
            ty,
            values: vec![ty.convert(value); rows],
        }
    }

    /// An operator applied; `None` when it is undefined in some row.
    #[must_use]
    pub fn unary(operator: Unary, operand: &Self) -> Option<Self> {
        let values: Option<Vec<i128>> = operand
            .values
            .iter()
            .map(|value| operator.apply(operand.ty, *value))
            .collect();
        Some(Self {
            text: format!("({}{})", operator.symbol(), operand.text),
            ty: operator.result(operand.ty),
            values: values?,
        })
    }

    /// An operator applied; `None` when it is undefined in some row.
    #[must_use]
    pub fn binary(operator: Binary, left: &Self, right: &Self) -> Option<Self> {
        let values: Option<Vec<i128>> = left
            .values
            .iter()
            .zip(&right.values)
            .map(|(a, b)| operator.apply((left.ty, *a), (right.ty, *b)))
            .collect();
        Some(Self {
            text: format!("({} {} {})", left.text, operator.symbol(), right.text),
            ty: operator.result(left.ty, right.ty),
            values: values?,
        })
    }

    /// Whether it is true (or false) in every row.
    #[must_use]
    pub fn is_always(&self, wanted: bool) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| (*value != 0) == wanted)
    }
}

/// A place with its value in each row.
#[derive(Debug, Clone)]
pub struct Column {
    /// Which place.
    pub place: Place,
    /// One value per row.
    pub values: Vec<i128>,
}

impl Column {
    /// The expression that reads the place.
    #[must_use]
    pub fn read(&self) -> Expression {
        Expression {
            text: self.place.read(),
            ty: self.place.scalar.read(),
            values: self.values.clone(),
        }
    }

    /// Takes the values an assignment of `expression` leaves in the place.
    pub fn assign(&mut self, expression: &Expression) {
        self.values = stored(self.place.scalar, expression);
    }
}

/// What an object of type `scalar` holds after `expression` was assigned to it.
#[must_use]
pub fn stored(scalar: Scalar, expression: &Expression) -> Vec<i128> {
    expression
        .values
        .iter()
        .map(|value| scalar.store(*value))
        .collect()
}

/// A place of which only bounds are known.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Which place.
    pub place: Place,
    /// The smallest value seen.
    pub low: i128,
    /// The largest value seen.
    pub high: i128,
}

/// Everything known at a point.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Number of rows, at most [`crate::probe::CAP`].
    pub rows: usize,
    /// Places with a value in each row.
    pub columns: Vec<Column>,
    /// Places with bounds only.
    pub intervals: Vec<Interval>,
}

impl Environment {
    /// Nothing to build a predicate from.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.intervals.is_empty()
    }

    /// What all runs agree on, initialised values only. `None` when the point was not reached in every run or the
    /// runs disagree on it as a whole.
    #[must_use]
    pub fn agreed(places: &[Place], runs: &[&Seen]) -> Option<Self> {
        let first = runs.first()?;
        if first.hits == 0 || runs.iter().any(|run| run.hits != first.hits) {
            return None;
        }
        let undefined = runs.iter().fold(0, |mask, run| mask | run.undefined);
        let same_bounds = |index: usize| {
            let bounds = first.bounds.get(index);
            bounds.is_some() && runs.iter().all(|run| run.bounds.get(index) == bounds)
        };
        let kept: Vec<usize> = (0..places.len())
            .filter(|index| undefined >> index & 1 == 0 && same_bounds(*index))
            .collect();
        let rows = |run: &Seen, columns: &[usize]| {
            let mut rows: Vec<Vec<u64>> = run
                .tuples
                .iter()
                .map(|tuple| {
                    columns
                        .iter()
                        .filter_map(|i| tuple.get(*i).copied())
                        .collect()
                })
                .collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        if runs.iter().any(|run| run.over) {
            return Some(Self::bounded(places, first, &kept));
        }
        let agreed: Vec<usize> = kept
            .into_iter()
            .filter(|index| {
                let column = rows(first, &[*index]);
                runs.iter().all(|run| rows(run, &[*index]) == column)
            })
            .collect();
        let joint = rows(first, &agreed);
        if runs.iter().any(|run| rows(run, &agreed) != joint) {
            return None;
        }
        let columns = agreed
            .iter()
            .enumerate()
            .filter_map(|(position, index)| {
                let place = places.get(*index)?.clone();
                let values = joint
                    .iter()
                    .filter_map(|row| Some(place.scalar.from_raw(*row.get(position)?)))
                    .collect();
                Some(Column { place, values })
            })
            .collect();
        Some(Self {
            rows: joint.len(),
            columns,
            intervals: Vec::new(),
        })
    }

    /// Over the cap: constants as the columns of a single row, the rest as intervals.
    fn bounded(places: &[Place], seen: &Seen, kept: &[usize]) -> Self {
        let mut environment = Self {
            rows: 1,
            ..Self::default()
        };
        for index in kept {
            let (Some(place), Some(bounds)) = (places.get(*index), seen.bounds.get(*index)) else {
                continue;
            };
            let at = if place.scalar.is_signed { 0 } else { 2 };
            let low = place.scalar.from_raw(bounds[at]);
            let high = place.scalar.from_raw(bounds[at + 1]);
            let place = place.clone();
            if low == high {
                environment.columns.push(Column {
                    place,
                    values: vec![low],
                });
            } else {
                environment.intervals.push(Interval { place, low, high });
            }
        }
        environment
    }
}

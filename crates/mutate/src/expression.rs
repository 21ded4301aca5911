//! SynExpr (paper 004, Algorithm 3): bottom-up expressions that are defined in every row.

use crate::environment::{Environment, Expression};
use crate::integer::{Binary, Unary};

/// Leaves of one expression, at most.
const LEAVES: usize = 5;
/// Unary steps in a row before a binary one is forced: unary steps alone never end.
const UNARY_RUN: usize = 3;

/// Constants at which compilers have special cases.
const CORNERS: [i128; 12] = [
    i32::MAX as i128,
    i32::MIN as i128,
    u32::MAX as i128,
    i64::MAX as i128,
    i64::MIN as i128,
    u64::MAX as i128,
    255,
    256,
    65535,
    -128,
    -32768,
    127,
];

/// A constant: small, of a random width, or a corner.
pub fn constant(random: &mut fastrand::Rng) -> i128 {
    match random.u8(0..6) {
        0 | 1 => i128::from(random.i8(-8..=8)),
        2 => i128::from(random.u8(0..100)),
        3 => {
            let bits = *random.choice(&[7, 15, 31, 32, 63]).unwrap_or(&7);
            let value = i128::from(random.u64(..) & ((1 << bits) - 1));
            if random.bool() { value } else { -value }
        }
        4 => 1 << random.u32(0..63),
        _ => *random.choice(&CORNERS).unwrap_or(&0),
    }
}

fn leaf(environment: &Environment, random: &mut fastrand::Rng) -> Expression {
    match random.choice(&environment.columns) {
        Some(column) if random.u8(0..10) < 8 => column.read(),
        _ => Expression::constant(constant(random), environment.rows),
    }
}

/// An expression over `environment`, defined in all its rows.
pub fn synthesise(environment: &Environment, random: &mut fastrand::Rng) -> Expression {
    let leaves = random.usize(1..=LEAVES);
    let mut work: Vec<Expression> = (0..leaves).map(|_| leaf(environment, random)).collect();
    let mut unary_run = 0;
    loop {
        random.shuffle(&mut work);
        let Some(last) = work.pop() else {
            return leaf(environment, random);
        };
        if unary_run < UNARY_RUN && random.u8(0..10) < 4 {
            unary_run += 1;
            work.push(unary(last, random));
            continue;
        }
        let Some(other) = work.pop() else {
            return last;
        };
        unary_run = 0;
        work.push(binary(&last, &other, random));
    }
}

fn unary(operand: Expression, random: &mut fastrand::Rng) -> Expression {
    let mut operators = Unary::ALL;
    random.shuffle(&mut operators);
    operators
        .into_iter()
        .find_map(|operator| Expression::unary(operator, &operand))
        .unwrap_or(operand)
}

fn binary(left: &Expression, right: &Expression, random: &mut fastrand::Rng) -> Expression {
    let mut operators = Binary::ALL;
    random.shuffle(&mut operators);
    operators
        .into_iter()
        .find_map(|operator| Expression::binary(operator, left, right))
        // `|` and its like are defined for all values, so this is never reached.
        .unwrap_or_else(|| left.clone())
}

//! The proof's equations at a loop head, solved for source variables.
//!
//! The proof defines machine columns by source values (`rax = 4·i + 16`). Equations of 64 bits, in which nothing wraps, are
//! brought to reduced row echelon form over the rationals, source values first (paper 001 §IV-A): a row with one source value is
//! that value as an expression over registers. Equations of 32 bits hold modulo 2^32, so they are solved one
//! by one and only for factors of 1 and -1.

use std::collections::{BTreeMap, BTreeSet};

use candor_prove::ir::ValueId;
use candor_prove::{Column, Definition, Node};

use crate::expression::Expression;

/// What a row of the matrix is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unknown {
    Source(ValueId),
    Register(u8),
    Unit(u32),
    One,
}

type Row = BTreeMap<Unknown, Ratio>;

/// A rational number in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ratio {
    top: i128,
    bottom: i128,
}

impl Ratio {
    fn whole(top: i64) -> Ratio {
        Ratio {
            top: i128::from(top),
            bottom: 1,
        }
    }

    fn new(top: i128, bottom: i128) -> Option<Ratio> {
        if bottom == 0 {
            return None;
        }
        let divisor = gcd(top.unsigned_abs(), bottom.unsigned_abs()).max(1) as i128;
        let sign = if bottom < 0 { -1 } else { 1 };
        Some(Ratio {
            top: sign * top / divisor,
            bottom: sign * bottom / divisor,
        })
    }

    fn times(self, other: Ratio) -> Option<Ratio> {
        Ratio::new(
            self.top.checked_mul(other.top)?,
            self.bottom.checked_mul(other.bottom)?,
        )
    }

    fn minus(self, other: Ratio) -> Option<Ratio> {
        let top = self
            .top
            .checked_mul(other.bottom)?
            .checked_sub(other.top.checked_mul(self.bottom)?)?;
        Ratio::new(top, self.bottom.checked_mul(other.bottom)?)
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Expressions for source values at a node; several for one value where registers hold it in several ways.
pub(crate) fn solve(node: &Node) -> BTreeMap<ValueId, BTreeSet<Expression>> {
    let mut found: BTreeMap<ValueId, BTreeSet<Expression>> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for invariant in &node.invariants {
        let Definition::Affine {
            terms,
            constant,
            width,
        } = &invariant.by
        else {
            continue;
        };
        let Some(row) = row(invariant.column, terms, *constant) else {
            continue;
        };
        if *width == 64
            || row
                .keys()
                .all(|unknown| matches!(unknown, Unknown::Source(_) | Unknown::One))
        {
            if let Some((id, expression)) = single(&row, false) {
                found.entry(id).or_default().insert(expression);
            }
            rows.push(row);
        } else if let Some((id, expression)) = single(&row, true)
            && expression.divisor == 1
        {
            found.entry(id).or_default().insert(expression);
        }
    }
    // once by registers as far as they go, and once with addresses replaced by registers that hold them
    let columns: BTreeSet<Unknown> = rows.iter().flat_map(|row| row.keys().copied()).collect();
    let (addresses, others): (Vec<Unknown>, Vec<Unknown>) = columns
        .iter()
        .partition(|unknown| matches!(unknown, Unknown::Unit(_)));
    for order in [columns.into_iter().collect(), [addresses, others].concat()] {
        for row in echelon(rows.clone(), order) {
            if let Some((id, expression)) = single(&row, false) {
                found.entry(id).or_default().insert(expression);
            }
        }
    }
    // a value that never changes is known without the machine
    for all in found.values_mut() {
        if let Some(constant) = all.iter().find(|one| one.is_constant()).cloned() {
            *all = BTreeSet::from([constant]);
        }
    }
    found
}

/// `column - Σ factor · column - constant = 0`, if registers and source values are all it is about.
fn row(column: Column, terms: &[(i64, Column)], constant: candor_prove::x86::Place) -> Option<Row> {
    let mut row = Row::new();
    let mut add = |unknown: Unknown, factor: Ratio| -> Option<()> {
        let zero = Ratio::whole(0);
        let old = row.get(&unknown).copied().unwrap_or(zero);
        let negated = zero.minus(factor)?;
        row.insert(unknown, old.minus(negated)?);
        Some(())
    };
    for (factor, column) in [(1, column)]
        .into_iter()
        .chain(terms.iter().map(|(factor, column)| (-factor, *column)))
    {
        let factor = Ratio::whole(factor);
        match column {
            Column::Source(id) => add(Unknown::Source(id), factor)?,
            Column::Quotient(id, divisor, rest) => {
                // (value - rest) / divisor
                let part = factor.times(Ratio::new(1, i128::from(divisor))?)?;
                add(Unknown::Source(id), part)?;
                let rest = Ratio::new(-i128::from(rest), 1)?;
                add(Unknown::One, part.times(rest)?)?;
            }
            Column::Reg(number) | Column::Low(number) | Column::LowAny(number) => {
                add(Unknown::Register(number), factor)?;
            }
            Column::Masked(..) | Column::Lane(..) | Column::Slot(_) | Column::HalfSlot(_) => {
                return None;
            }
        }
    }
    if let Some(unit) = constant.unit {
        add(Unknown::Unit(unit), Ratio::whole(-1))?;
    }
    add(Unknown::One, Ratio::whole(constant.offset.checked_neg()?))?;
    row.retain(|_, factor| factor.top != 0);
    Some(row)
}

/// A row with exactly one source value, solved for it.
fn single(row: &Row, narrow: bool) -> Option<(ValueId, Expression)> {
    let mut sources = row.iter().filter_map(|(unknown, factor)| match unknown {
        Unknown::Source(id) => Some((*id, *factor)),
        _ => None,
    });
    let (id, factor) = sources.next()?;
    if sources.next().is_some() {
        return None;
    }
    let scale = Ratio::new(-factor.bottom, factor.top)?;
    let mut solved: BTreeMap<Unknown, Ratio> = BTreeMap::new();
    let mut divisor = 1i128;
    for (unknown, factor) in row {
        if *unknown != Unknown::Source(id) {
            let part = factor.times(scale)?;
            divisor = divisor / gcd(divisor.unsigned_abs(), part.bottom.unsigned_abs()) as i128
                * part.bottom;
            solved.insert(*unknown, part);
        }
    }
    let mut expression = Expression {
        registers: Vec::new(),
        unit: None,
        constant: 0,
        divisor: i64::try_from(divisor).ok()?,
        narrow,
    };
    for (unknown, part) in solved {
        let factor = i64::try_from(part.top.checked_mul(divisor / part.bottom)?).ok()?;
        match unknown {
            Unknown::Register(number) => expression.registers.push((factor, number)),
            Unknown::One => expression.constant = factor,
            Unknown::Unit(unit) => {
                if expression.unit.is_some() || factor.abs() != 1 {
                    return None;
                }
                expression.unit = Some((factor, unit));
            }
            Unknown::Source(_) => return None,
        }
    }
    // a difference of addresses within one part of the program is a number; a lone address is a pointer
    Some((id, expression))
}

/// Reduced row echelon form, its columns in an order.
fn echelon(mut rows: Vec<Row>, columns: Vec<Unknown>) -> Vec<Row> {
    let mut done = 0;
    for column in columns {
        if column == Unknown::One {
            break;
        }
        let Some(pivot) = (done..rows.len()).find(|index| rows[*index].contains_key(&column))
        else {
            continue;
        };
        rows.swap(done, pivot);
        let Some(scale) = Ratio::new(rows[done][&column].bottom, rows[done][&column].top) else {
            return Vec::new();
        };
        let Some(normal) = scaled(&rows[done], scale) else {
            return Vec::new();
        };
        for (index, row) in rows.iter_mut().enumerate() {
            if index == done {
                continue;
            }
            if let Some(factor) = row.get(&column).copied() {
                let Some(reduced) = subtracted(row, &normal, factor) else {
                    return Vec::new();
                };
                *row = reduced;
            }
        }
        rows[done] = normal;
        done += 1;
    }
    rows
}

fn scaled(row: &Row, by: Ratio) -> Option<Row> {
    row.iter()
        .map(|(unknown, factor)| Some((*unknown, factor.times(by)?)))
        .collect()
}

fn subtracted(row: &Row, other: &Row, factor: Ratio) -> Option<Row> {
    let mut out = row.clone();
    for (unknown, theirs) in other {
        let old = out.get(unknown).copied().unwrap_or(Ratio::whole(0));
        let new = old.minus(theirs.times(factor)?)?;
        if new.top == 0 {
            out.remove(unknown);
        } else {
            out.insert(*unknown, new);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use candor_prove::Invariant;
    use candor_prove::ir::BlockId;
    use candor_prove::x86::Place;

    use super::*;

    fn node(invariants: Vec<Invariant>) -> Node {
        Node {
            at: 0,
            head: BlockId(1),
            depth: 0,
            sources: Vec::new(),
            invariants,
            hypotheses: Vec::new(),
        }
    }

    fn affine(column: Column, terms: Vec<(i64, Column)>, constant: i64, width: u8) -> Invariant {
        let constant = Place {
            unit: None,
            offset: constant,
        };
        Invariant {
            column,
            by: Definition::Affine {
                terms,
                constant,
                width,
            },
        }
    }

    #[test]
    fn a_counter_is_solved_and_two_values_are_told_apart() {
        let (i, j) = (ValueId(3), ValueId(4));
        // rax = 4·i + 16; rcx = i + 2·j
        let found = solve(&node(vec![
            affine(Column::Reg(0), vec![(4, Column::Source(i))], 16, 64),
            affine(
                Column::Reg(1),
                vec![(1, Column::Source(i)), (2, Column::Source(j))],
                0,
                64,
            ),
        ]));
        let of = |id: ValueId| found[&id].iter().cloned().collect::<Vec<_>>();
        assert_eq!(
            of(i),
            [Expression {
                registers: vec![(1, 0)],
                unit: None,
                constant: -16,
                divisor: 4,
                narrow: false
            }]
        );
        assert_eq!(
            of(j),
            [Expression {
                registers: vec![(-1, 0), (4, 1)],
                unit: None,
                constant: 16,
                divisor: 8,
                narrow: false
            }]
        );
    }

    #[test]
    fn an_address_is_taken_from_a_register_that_holds_it() {
        let (i, x) = (ValueId(3), ValueId(4));
        let place = |offset| Place {
            unit: Some(7),
            offset,
        };
        let defined = |column, terms, constant| Invariant {
            column,
            by: Definition::Affine {
                terms,
                constant,
                width: 64,
            },
        };
        // rax = 4·i; rsi = a + 8; x = 4·i + a
        let found = solve(&node(vec![
            affine(Column::Reg(0), vec![(4, Column::Source(i))], 0, 64),
            defined(Column::Reg(6), vec![], place(8)),
            defined(Column::Source(x), vec![(4, Column::Source(i))], place(0)),
        ]));
        let expression = |registers, unit, constant| Expression {
            registers,
            unit,
            constant,
            divisor: 1,
            narrow: false,
        };
        assert!(found[&x].contains(&expression(vec![(1, 0)], Some((1, 7)), 0)));
        assert!(found[&x].contains(&expression(vec![(1, 0), (1, 6)], None, -8)));
    }

    #[test]
    fn halves_are_solved_modulo_two_to_the_32_only_without_division() {
        let i = ValueId(3);
        let row = |factor| affine(Column::LowAny(2), vec![(factor, Column::Source(i))], 5, 32);
        let one = solve(&node(vec![row(-1)]));
        assert_eq!(one[&i].len(), 1);
        assert!(solve(&node(vec![row(4)])).is_empty());
    }
}

//! What is claimed at a pair of loop heads: definitions of columns by others, and conditions.
//!
//! A *column* is a place whose value at a visit is a number: a source variable, a register or its low half, a vector lane,
//! a slot of the frame. Definitions only go one way (machine by source, wide by narrow), so a node's state can be
//! built by substitution instead of being assumed by equations.

use serde::{Deserialize, Serialize};

use crate::ir::{BlockId, Env, Function, Val, ValueId};
use crate::memory::{MachineView, SymMemory, World};
use crate::term::{Bool, Bv, Portable, PortableBool, Resolve, TRUE, Terms};
use crate::x86::{Memory as _, NAMES, Place, State, Unsupported};

/// A place with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// A source value.
    Source(ValueId),
    /// A source parameter's low bits: value & mask.
    Masked(ValueId, u64),
    /// A source value less a rest, divided by a number that divides it: (value - rest) / divisor.
    Quotient(ValueId, u64, u64),
    /// A general register.
    Reg(u8),
    /// The low half of a register whose upper half is zero.
    Low(u8),
    /// The low half of a register whose upper half is unknown.
    LowAny(u8),
    /// A lane of a vector register.
    Lane(u8, u8),
    /// Eight bytes of the frame, at an offset from the entry's rsp.
    Slot(i64),
    /// Four bytes of the frame.
    HalfSlot(i64),
}

impl Column {
    /// Bits.
    pub fn width(self, function: &Function) -> u8 {
        match self {
            Column::Source(id) | Column::Masked(id, _) | Column::Quotient(id, ..) => {
                function.value(id).width
            }
            Column::Reg(_) | Column::Slot(_) => 64,
            Column::Low(_) | Column::LowAny(_) | Column::Lane(..) | Column::HalfSlot(_) => 32,
        }
    }

    /// Whether it belongs to the source program.
    pub fn is_source(self) -> bool {
        matches!(
            self,
            Column::Source(_) | Column::Masked(..) | Column::Quotient(..)
        )
    }

    /// As a person writes it.
    pub fn show(self, function: &Function) -> String {
        match self {
            Column::Source(id) => function.display(id),
            Column::Masked(id, mask) => format!("({} & {mask})", function.display(id)),
            Column::Quotient(id, divisor, 0) => format!("({}/{divisor})", function.display(id)),
            Column::Quotient(id, divisor, rest) => {
                format!("(({} - {rest})/{divisor})", function.display(id))
            }
            Column::Reg(number) => NAMES[number as usize].to_owned(),
            Column::Low(number) | Column::LowAny(number) => half_name(number),
            Column::Lane(register, lane) => format!("xmm{register}[{lane}]"),
            Column::Slot(offset) => format!("frame[{offset}]"),
            Column::HalfSlot(offset) => format!("frame32[{offset}]"),
        }
    }
}

fn half_name(number: u8) -> String {
    let name = NAMES[number as usize];
    match number {
        0..8 => format!("e{}", &name[1..]),
        _ => format!("{name}d"),
    }
}

/// A definition of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Definition {
    /// Σ factor · column + constant, at a width. The constant may be an address.
    Affine {
        /// Factors and columns.
        terms: Vec<(i64, Column)>,
        /// The constant.
        constant: Place,
        /// Bits.
        width: u8,
    },
    /// The content of memory at an affine address.
    Cell {
        /// Factors and columns of the address.
        terms: Vec<(i64, Column)>,
        /// Its constant part.
        constant: Place,
    },
    /// The greatest or least of columns.
    Extreme {
        /// Greatest.
        greatest: bool,
        /// Of these.
        of: Vec<Column>,
    },
    /// A term over source values and memory.
    Term(Portable),
    /// The value that a callee-saved register had at the entry.
    Saved(u8),
}

/// `column` is `definition`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Invariant {
    /// What is defined.
    pub column: Column,
    /// By what.
    pub by: Definition,
}

/// A condition at a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hypothesis {
    /// At least (signed).
    AtLeast(Column, i64),
    /// At most (signed).
    AtMost(Column, i64),
    /// Congruent to the last modulo a power of two.
    Mod(Column, u64, u64),
    /// Congruent modulo any other number (the column is not negative and bounded).
    ModAny(Column, u64, u64),
    /// Less (signed).
    Less(Column, Column),
    /// Less or equal (signed).
    LessEqual(Column, Column),
    /// Less (unsigned).
    Below(Column, Column),
    /// Less or equal (unsigned).
    BelowEqual(Column, Column),
    /// The difference is congruent to the last modulo a power of two.
    ModDifference(Column, Column, u64, u64),
    /// A sum at 64 bits is congruent modulo a power of two.
    ModSum(Vec<(i64, Column)>, u64, u64),
    /// A sum at 64 bits is at most zero.
    SumAtMostZero(Vec<(i64, Column)>),
    /// A condition over source values.
    Literal(PortableBool),
}

impl Hypothesis {
    /// Whether its numbers are as its kind needs them (conditions come from files too).
    pub fn is_sound(&self) -> bool {
        match self {
            Hypothesis::Mod(_, modulus, _)
            | Hypothesis::ModDifference(_, _, modulus, _)
            | Hypothesis::ModSum(_, modulus, _) => modulus.is_power_of_two() && *modulus < 1 << 31,
            Hypothesis::ModAny(_, modulus, rest) => {
                (1..1 << 31).contains(modulus) && rest < modulus
            }
            _ => true,
        }
    }

    /// The columns it is about (not those inside a literal).
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Hypothesis::AtLeast(a, _)
            | Hypothesis::AtMost(a, _)
            | Hypothesis::Mod(a, ..)
            | Hypothesis::ModAny(a, ..) => vec![*a],
            Hypothesis::Less(a, b)
            | Hypothesis::LessEqual(a, b)
            | Hypothesis::Below(a, b)
            | Hypothesis::BelowEqual(a, b)
            | Hypothesis::ModDifference(a, b, ..) => vec![*a, *b],
            Hypothesis::ModSum(terms, ..) | Hypothesis::SumAtMostZero(terms) => {
                terms.iter().map(|(_, column)| *column).collect()
            }
            Hypothesis::Literal(_) => Vec::new(),
        }
    }
}

/// A pair of loop heads with all that is claimed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Address of the machine loop head.
    pub at: u64,
    /// The source loop head.
    pub head: BlockId,
    /// rsp there, relative to the entry's.
    pub depth: i64,
    /// Source values that live there.
    pub sources: Vec<ValueId>,
    /// Definitions, at most one per column.
    pub invariants: Vec<Invariant>,
    /// Conditions.
    pub hypotheses: Vec<Hypothesis>,
}

/// A moment of both programs: what columns are read from.
pub struct Moment<'a, 'w> {
    /// What both programs live in.
    pub world: &'a World<'w>,
    /// The source function.
    pub function: &'a Function,
    /// Source values.
    pub env: &'a Env<Terms>,
    /// Machine registers.
    pub state: &'a State<Terms>,
    /// Machine memory.
    pub memory: &'a SymMemory,
}

/// Name of the variable that stands for a source value.
pub fn source_name(function: &Function, id: ValueId) -> String {
    format!("{}'{}", function.display(id), id.0)
}

/// The source value that a variable stands for.
pub fn source_of_name(name: &str) -> Option<ValueId> {
    name.rsplit_once('\'')?.1.parse().ok().map(ValueId)
}

type Result<T> = std::result::Result<T, Unsupported>;

impl Moment<'_, '_> {
    /// The value of a column.
    pub fn value(&self, t: &mut Terms, column: Column) -> Result<Bv> {
        Ok(match column {
            Column::Source(id) => self.source(t, id)?,
            Column::Masked(id, mask) => {
                let value = self.source(t, id)?;
                let width = t.width(value);
                let mask = t.constant(mask, width);
                t.and(value, mask)
            }
            Column::Quotient(id, divisor, rest) => {
                let value = self.source(t, id)?;
                exact_quotient(t, value, divisor, rest).ok_or_else(|| {
                    Unsupported("a value that is no multiple of its step".to_owned())
                })?
            }
            Column::Reg(number) => self.state.regs[number as usize],
            Column::Low(number) | Column::LowAny(number) => {
                t.trunc(self.state.regs[number as usize], 32)
            }
            Column::Lane(register, lane) => self.state.vectors[register as usize][lane as usize],
            Column::Slot(offset) => self.frame(t, offset, 8)?,
            Column::HalfSlot(offset) => self.frame(t, offset, 4)?,
        })
    }

    fn frame(&self, t: &mut Terms, offset: i64, bytes: u8) -> Result<Bv> {
        let mut memory = self.memory.clone();
        let mut view = MachineView {
            world: self.world,
            memory: &mut memory,
        };
        let address = t.offset(self.world.rsp, offset);
        view.load(t, address, bytes)
    }

    fn source(&self, t: &mut Terms, id: ValueId) -> Result<Bv> {
        match self.env.get(id.0 as usize) {
            Some(Some(Val::Int(value))) => Ok(*value),
            Some(Some(Val::Bit(bit))) => Ok(t.indicator(*bit, 1)),
            _ => Err(Unsupported("a source value that is not there".to_owned())),
        }
    }

    /// A column extended (signed) or cut to a width.
    fn sized(&self, t: &mut Terms, column: Column, width: u8) -> Result<Bv> {
        let value = self.value(t, column)?;
        Ok(match t.width(value).cmp(&width) {
            std::cmp::Ordering::Less => t.sext(value, width),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => t.trunc(value, width),
        })
    }

    fn sum(
        &self,
        t: &mut Terms,
        terms: &[(i64, Column)],
        constant: Place,
        width: u8,
    ) -> Result<Bv> {
        let mut sum = t.integer(constant.offset, width);
        if let Some(unit) = constant.unit {
            let base = *self
                .world
                .bases
                .get(unit as usize)
                .ok_or_else(|| Unsupported("an address in an unknown unit".to_owned()))?;
            let base = t.trunc(base, width);
            sum = t.add(sum, base);
        }
        for (factor, column) in terms {
            let value = self.sized(t, *column, width)?;
            sum = t.linear(&[(1, sum), (*factor as u64, value)], width);
        }
        Ok(sum)
    }

    /// The value a definition gives to a column.
    pub fn defined(&self, t: &mut Terms, invariant: &Invariant) -> Result<Bv> {
        let width = invariant.column.width(self.function);
        match &invariant.by {
            Definition::Affine {
                terms,
                constant,
                width,
            } => self.sum(t, terms, *constant, *width),
            Definition::Cell { terms, constant } => {
                let address = self.sum(t, terms, *constant, 64)?;
                self.content(t, address, width)
            }
            Definition::Extreme { greatest, of } => {
                let values = of
                    .iter()
                    .map(|column| self.sized(t, *column, width))
                    .collect::<Result<Vec<_>>>()?;
                Ok(match greatest {
                    true => t.smax(&values),
                    false => t.smin(&values),
                })
            }
            Definition::Term(tree) => {
                let mut resolve = Values { moment: self };
                let value = t.build(tree, &mut resolve);
                value
                    .filter(|value| t.width(*value) == width)
                    .ok_or_else(|| Unsupported("a term over values that are not there".to_owned()))
            }
            Definition::Saved(register) => Ok(entry_register(t, *register as usize)),
        }
    }

    /// Memory at an address.
    fn content(&self, t: &mut Terms, address: Bv, width: u8) -> Result<Bv> {
        let mut memory = self.memory.clone();
        let mut view = MachineView {
            world: self.world,
            memory: &mut memory,
        };
        view.load(t, address, width / 8)
    }

    /// A condition as a term.
    pub fn condition(&self, t: &mut Terms, hypothesis: &Hypothesis) -> Result<Bool> {
        let congruent = |t: &mut Terms, value: Bv, modulus: u64, rest: u64| {
            let width = t.width(value);
            let low = t.constant(modulus - 1, width);
            let value = t.and(value, low);
            let rest = t.constant(rest, width);
            t.eq(value, rest)
        };
        Ok(match hypothesis {
            Hypothesis::AtLeast(column, bound) => {
                let value = self.value(t, *column)?;
                let bound = t.integer(*bound, t.width(value));
                let less = t.slt(value, bound);
                t.not(less)
            }
            Hypothesis::AtMost(column, bound) => {
                let value = self.value(t, *column)?;
                let bound = t.integer(*bound, t.width(value));
                let greater = t.slt(bound, value);
                t.not(greater)
            }
            Hypothesis::Mod(column, modulus, rest) => {
                let value = self.value(t, *column)?;
                congruent(t, value, *modulus, *rest)
            }
            Hypothesis::ModAny(column, modulus, rest) => {
                let value = self.value(t, *column)?;
                self.congruent_any(t, value, *modulus, *rest)
            }
            Hypothesis::Less(a, b) => {
                let (a, b) = (self.value(t, *a)?, self.value(t, *b)?);
                t.slt(a, b)
            }
            Hypothesis::LessEqual(a, b) => {
                let (a, b) = (self.value(t, *a)?, self.value(t, *b)?);
                let greater = t.slt(b, a);
                t.not(greater)
            }
            Hypothesis::Below(a, b) => {
                let (a, b) = (self.value(t, *a)?, self.value(t, *b)?);
                t.ult(a, b)
            }
            Hypothesis::BelowEqual(a, b) => {
                let (a, b) = (self.value(t, *a)?, self.value(t, *b)?);
                let greater = t.ult(b, a);
                t.not(greater)
            }
            Hypothesis::ModDifference(a, b, modulus, rest) => {
                let (a, b) = (self.value(t, *a)?, self.value(t, *b)?);
                let difference = t.sub(a, b);
                congruent(t, difference, *modulus, *rest)
            }
            Hypothesis::ModSum(terms, modulus, rest) => {
                let none = Place {
                    unit: None,
                    offset: 0,
                };
                let sum = self.sum(t, terms, none, 64)?;
                congruent(t, sum, *modulus, *rest)
            }
            Hypothesis::SumAtMostZero(terms) => {
                let none = Place {
                    unit: None,
                    offset: 0,
                };
                let sum = self.sum(t, terms, none, 64)?;
                let zero = t.constant(0, 64);
                let greater = t.slt(zero, sum);
                t.not(greater)
            }
            Hypothesis::Literal(tree) => {
                let mut resolve = Values { moment: self };
                t.build_condition(tree, &mut resolve).ok_or_else(|| {
                    Unsupported("a condition over values that are not there".to_owned())
                })?
            }
        })
    }

    /// `value ≡ rest (mod modulus)` for a value that does not wrap: by its coefficients where they tell.
    fn congruent_any(&self, t: &mut Terms, value: Bv, modulus: u64, rest: u64) -> Bool {
        let width = t.width(value);
        if t.fits(value) {
            let addends = t.addends(value);
            let mut constant = 0i64;
            let all = addends.iter().all(|(factor, mono)| {
                if t.as_constant(*mono) == Some(1) {
                    constant = *factor;
                    true
                } else {
                    factor.rem_euclid(modulus as i64) == 0
                }
            });
            if all && constant.rem_euclid(modulus as i64) == rest as i64 {
                return TRUE;
            }
        }
        let modulus = t.constant(modulus, width);
        let remainder = t.urem(value, modulus);
        let rest = t.constant(rest, width);
        t.eq(remainder, rest)
    }
}

/// (value - rest) / divisor, where the coefficients show that it is exact and nothing wraps.
fn exact_quotient(t: &mut Terms, value: Bv, divisor: u64, rest: u64) -> Option<Bv> {
    let width = t.width(value);
    let value = t.offset(value, -i64::try_from(rest).ok()?);
    if !t.fits(value) {
        return None;
    }
    let divisor = i64::try_from(divisor).ok().filter(|d| *d > 0)?;
    let mut quotient = t.constant(0, width);
    for (factor, mono) in t.addends(value) {
        if factor % divisor != 0 {
            return None;
        }
        quotient = t.linear(&[(1, quotient), ((factor / divisor) as u64, mono)], width);
    }
    Some(quotient)
}

/// The value a register had at the entry.
pub fn entry_register(t: &mut Terms, number: usize) -> Bv {
    t.var(&format!("{}@entry", NAMES[number]), 64)
}

/// Reads variables of trees from a moment.
struct Values<'a, 'b, 'w> {
    moment: &'a Moment<'b, 'w>,
}

impl Resolve for Values<'_, '_, '_> {
    fn variable(&mut self, t: &mut Terms, name: &str, _: u8) -> Option<Bv> {
        if let Some(id) = source_of_name(name) {
            return self.moment.source(t, id).ok();
        }
        if let Some(unit) = name.strip_prefix("unit ") {
            let index: usize = unit.parse().ok()?;
            return self.moment.world.bases.get(index).copied();
        }
        None
    }

    fn cell(&mut self, t: &mut Terms, address: Bv, width: u8) -> Option<Bv> {
        self.moment.content(t, address, width).ok()
    }
}

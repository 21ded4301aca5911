//! Terms outside an arena: trees over named variables, for certificates, and rebuilding with substitution.

use serde::{Deserialize, Serialize};

use super::*;

/// A term as a tree. Variables have the names they had; memory cells are of the memory at hand when the
/// term is built again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Portable {
    /// Sum of products: (coefficient, factors), and the width.
    Sum(u8, Vec<(u64, Vec<Portable>)>),
    /// A variable: name and width.
    Var(String, u8),
    /// A memory cell at an address, with its width.
    Mem(Box<Portable>, u8),
    /// Sign extension to a width.
    Sext(Box<Portable>, u8),
    /// Zero extension to a width.
    Zext(Box<Portable>, u8),
    /// Bits from one on, of a width.
    Extract(Box<Portable>, u8, u8),
    /// Parts, lowest first.
    Concat(Vec<Portable>),
    /// An operation of two operands, by its name.
    Binary(String, Box<Portable>, Box<Portable>),
    /// Signed maximum.
    Max(Vec<Portable>),
    /// Signed minimum.
    Min(Vec<Portable>),
    /// 1 where the condition holds.
    Indicator(Box<PortableBool>),
}

/// A boolean as a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortableBool {
    /// A constant.
    Constant(bool),
    /// The value is zero.
    Zero(Portable),
    /// Signed less than.
    Slt(Portable, Portable),
    /// Unsigned less than.
    Ult(Portable, Portable),
    /// Negation.
    Not(Box<PortableBool>),
    /// Conjunction.
    And(Vec<PortableBool>),
    /// Disjunction.
    Or(Vec<PortableBool>),
}

impl Portable {
    /// Names of the variables in it.
    pub fn variables(&self, found: &mut Vec<String>) {
        match self {
            Portable::Sum(_, terms) => {
                for factor in terms.iter().flat_map(|(_, factors)| factors) {
                    factor.variables(found);
                }
            }
            Portable::Var(name, _) => found.push(name.clone()),
            Portable::Mem(a, _)
            | Portable::Sext(a, _)
            | Portable::Zext(a, _)
            | Portable::Extract(a, ..) => {
                a.variables(found);
            }
            Portable::Concat(parts) | Portable::Max(parts) | Portable::Min(parts) => {
                for part in parts {
                    part.variables(found);
                }
            }
            Portable::Binary(_, a, b) => {
                a.variables(found);
                b.variables(found);
            }
            Portable::Indicator(condition) => condition.variables(found),
        }
    }

    /// Renames variables in place.
    pub fn rename(&mut self, f: &dyn Fn(&str) -> String) {
        match self {
            Portable::Sum(_, terms) => {
                for factor in terms.iter_mut().flat_map(|(_, factors)| factors) {
                    factor.rename(f);
                }
            }
            Portable::Var(name, _) => *name = f(name),
            Portable::Mem(a, _)
            | Portable::Sext(a, _)
            | Portable::Zext(a, _)
            | Portable::Extract(a, ..) => {
                a.rename(f);
            }
            Portable::Concat(parts) | Portable::Max(parts) | Portable::Min(parts) => {
                for part in parts {
                    part.rename(f);
                }
            }
            Portable::Binary(_, a, b) => {
                a.rename(f);
                b.rename(f);
            }
            Portable::Indicator(condition) => condition.rename(f),
        }
    }
}

impl PortableBool {
    /// Names of the variables in it.
    pub fn variables(&self, found: &mut Vec<String>) {
        match self {
            PortableBool::Constant(_) => {}
            PortableBool::Zero(a) => a.variables(found),
            PortableBool::Slt(a, b) | PortableBool::Ult(a, b) => {
                a.variables(found);
                b.variables(found);
            }
            PortableBool::Not(inner) => inner.variables(found),
            PortableBool::And(parts) | PortableBool::Or(parts) => {
                for part in parts {
                    part.variables(found);
                }
            }
        }
    }

    /// Renames variables in place.
    pub fn rename(&mut self, f: &dyn Fn(&str) -> String) {
        match self {
            PortableBool::Constant(_) => {}
            PortableBool::Zero(a) => a.rename(f),
            PortableBool::Slt(a, b) | PortableBool::Ult(a, b) => {
                a.rename(f);
                b.rename(f);
            }
            PortableBool::Not(inner) => inner.rename(f),
            PortableBool::And(parts) | PortableBool::Or(parts) => {
                for part in parts {
                    part.rename(f);
                }
            }
        }
    }
}

/// How variables and memory cells of a tree are read when it is built.
pub trait Resolve {
    /// The value of a variable; `None` makes building fail.
    fn variable(&mut self, terms: &mut Terms, name: &str, width: u8) -> Option<Bv>;
    /// The content of memory at an address.
    fn cell(&mut self, terms: &mut Terms, address: Bv, width: u8) -> Option<Bv>;
}

impl Terms {
    /// A term as a tree. Memory cells of later epochs have no portable form.
    pub fn export(&self, value: Bv) -> Option<Portable> {
        let width = self.width(value);
        let mut sum = Vec::new();
        for (mono, factor) in self.terms_of(value) {
            let factors = self
                .factors(*mono)
                .iter()
                .map(|atom| self.export_atom(*atom))
                .collect::<Option<Vec<_>>>()?;
            sum.push((*factor, factors));
        }
        Some(Portable::Sum(width, sum))
    }

    fn export_atom(&self, atom: Atom) -> Option<Portable> {
        let width = self.atoms[atom.0 as usize].width;
        let tree = |value: Bv| self.export(value).map(Box::new);
        let all = |parts: &[Bv]| {
            parts
                .iter()
                .map(|part| self.export(*part))
                .collect::<Option<Vec<_>>>()
        };
        let binary =
            |name: &str, a: Bv, b: Bv| Some(Portable::Binary(name.to_owned(), tree(a)?, tree(b)?));
        match self.kind(atom) {
            Kind::Var(var) => Some(Portable::Var(self.name_of(*var).to_owned(), width)),
            Kind::Mem(address, 0) => Some(Portable::Mem(tree(*address)?, width)),
            Kind::Mem(..) => None,
            Kind::Sext(a) => Some(Portable::Sext(tree(*a)?, width)),
            Kind::Zext(a) => Some(Portable::Zext(tree(*a)?, width)),
            Kind::Extract(a, low) => Some(Portable::Extract(tree(*a)?, *low, width)),
            Kind::Concat(parts) => Some(Portable::Concat(all(parts)?)),
            Kind::And(a, b) => binary("and", *a, *b),
            Kind::Or(a, b) => binary("or", *a, *b),
            Kind::Xor(a, b) => binary("xor", *a, *b),
            Kind::Shl(a, b) => binary("shl", *a, *b),
            Kind::Lshr(a, b) => binary("lshr", *a, *b),
            Kind::Ashr(a, b) => binary("ashr", *a, *b),
            Kind::Udiv(a, b) => binary("udiv", *a, *b),
            Kind::Urem(a, b) => binary("urem", *a, *b),
            Kind::Sdiv(a, b) => binary("sdiv", *a, *b),
            Kind::Srem(a, b) => binary("srem", *a, *b),
            Kind::Smax(parts) => Some(Portable::Max(all(parts)?)),
            Kind::Smin(parts) => Some(Portable::Min(all(parts)?)),
            Kind::Indicator(condition) => Some(Portable::Indicator(Box::new(
                self.export_condition(*condition)?,
            ))),
        }
    }

    /// A boolean as a tree.
    pub fn export_condition(&self, condition: Bool) -> Option<PortableBool> {
        let all = |parts: &[Bool]| {
            parts
                .iter()
                .map(|part| self.export_condition(*part))
                .collect::<Option<Vec<_>>>()
        };
        Some(match self.formula_of(condition) {
            Formula::True => PortableBool::Constant(true),
            Formula::False => PortableBool::Constant(false),
            Formula::Zero(a) => PortableBool::Zero(self.export(*a)?),
            Formula::Slt(a, b) => PortableBool::Slt(self.export(*a)?, self.export(*b)?),
            Formula::Ult(a, b) => PortableBool::Ult(self.export(*a)?, self.export(*b)?),
            Formula::Not(inner) => PortableBool::Not(Box::new(self.export_condition(*inner)?)),
            Formula::And(parts) => PortableBool::And(all(parts)?),
            Formula::Or(parts) => PortableBool::Or(all(parts)?),
        })
    }

    /// Builds a tree. `None` where a variable has no value now, or the tree is ill-formed (trees come from
    /// files too: widths are checked).
    pub fn build(&mut self, tree: &Portable, resolve: &mut dyn Resolve) -> Option<Bv> {
        match tree {
            Portable::Sum(width, terms) => {
                let width = legal(*width)?;
                let mut sum = self.constant(0, width);
                for (factor, factors) in terms {
                    let mut product = self.constant(1, width);
                    for tree in factors {
                        let factor = match tree {
                            Portable::Indicator(condition) => {
                                let condition = self.build_condition(condition, resolve)?;
                                self.indicator(condition, width)
                            }
                            other => self.build(other, resolve)?,
                        };
                        if self.width(factor) != width {
                            return None;
                        }
                        product = self.mul(product, factor);
                    }
                    sum = self.linear(&[(1, sum), (*factor, product)], width);
                }
                Some(sum)
            }
            Portable::Var(name, width) => {
                let value = resolve.variable(self, name, legal(*width)?)?;
                (self.width(value) == *width).then_some(value)
            }
            Portable::Mem(address, width) => {
                let address = self.build(address, resolve)?;
                if self.width(address) != 64 {
                    return None;
                }
                resolve.cell(self, address, legal(*width)?)
            }
            Portable::Sext(inner, width) => {
                let inner = self.build(inner, resolve)?;
                (self.width(inner) < legal(*width)?).then(|| self.sext(inner, *width))
            }
            Portable::Zext(inner, width) => {
                let inner = self.build(inner, resolve)?;
                (self.width(inner) < legal(*width)?).then(|| self.zext(inner, *width))
            }
            Portable::Extract(inner, low, width) => {
                let inner = self.build(inner, resolve)?;
                let end = low.checked_add(legal(*width)?)?;
                (end <= self.width(inner)).then(|| self.extract(inner, *low, *width))
            }
            Portable::Concat(parts) => {
                let parts = self.build_all(parts, resolve)?;
                let width: u32 = parts.iter().map(|part| u32::from(self.width(*part))).sum();
                (!parts.is_empty() && width <= 64).then(|| self.concat(&parts))
            }
            Portable::Max(parts) | Portable::Min(parts) => {
                let values = self.build_all(parts, resolve)?;
                let width = self.width(*values.first()?);
                if values.iter().any(|value| self.width(*value) != width) {
                    return None;
                }
                Some(match tree {
                    Portable::Max(_) => self.smax(&values),
                    _ => self.smin(&values),
                })
            }
            Portable::Binary(name, a, b) => {
                let a = self.build(a, resolve)?;
                let b = self.build(b, resolve)?;
                if self.width(a) != self.width(b) {
                    return None;
                }
                Some(match name.as_str() {
                    "and" => self.and(a, b),
                    "or" => self.or(a, b),
                    "xor" => self.xor(a, b),
                    "shl" => self.shl(a, b),
                    "lshr" => self.lshr(a, b),
                    "ashr" => self.ashr(a, b),
                    "udiv" => self.udiv(a, b),
                    "urem" => self.urem(a, b),
                    "sdiv" => self.sdiv(a, b),
                    "srem" => self.srem(a, b),
                    _ => return None,
                })
            }
            Portable::Indicator(_) => None, // only a factor of a sum has a width
        }
    }

    fn build_all(&mut self, trees: &[Portable], resolve: &mut dyn Resolve) -> Option<Vec<Bv>> {
        trees.iter().map(|tree| self.build(tree, resolve)).collect()
    }

    /// Builds a boolean tree.
    pub fn build_condition(
        &mut self,
        tree: &PortableBool,
        resolve: &mut dyn Resolve,
    ) -> Option<Bool> {
        Some(match tree {
            PortableBool::Constant(true) => TRUE,
            PortableBool::Constant(false) => FALSE,
            PortableBool::Zero(a) => {
                let a = self.build(a, resolve)?;
                let zero = self.constant(0, self.width(a));
                self.eq(a, zero)
            }
            PortableBool::Slt(a, b) | PortableBool::Ult(a, b) => {
                let a = self.build(a, resolve)?;
                let b = self.build(b, resolve)?;
                if self.width(a) != self.width(b) {
                    return None;
                }
                match tree {
                    PortableBool::Slt(..) => self.slt(a, b),
                    _ => self.ult(a, b),
                }
            }
            PortableBool::Not(inner) => {
                let inner = self.build_condition(inner, resolve)?;
                self.not(inner)
            }
            PortableBool::And(parts) | PortableBool::Or(parts) => {
                let parts = parts
                    .iter()
                    .map(|part| self.build_condition(part, resolve))
                    .collect::<Option<Vec<_>>>()?;
                match tree {
                    PortableBool::And(_) => self.and_all(&parts),
                    _ => self.or_all(&parts),
                }
            }
        })
    }
}

/// A width that terms can have.
fn legal(width: u8) -> Option<u8> {
    (1..=64).contains(&width).then_some(width)
}

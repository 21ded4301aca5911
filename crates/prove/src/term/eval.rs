//! Concrete values of terms: what the property tests compare with, and how a model is told from a claim.

use super::*;

/// Values of variables and memory cells.
pub struct Model<'a> {
    /// The value of a variable of a width.
    pub variable: &'a dyn Fn(&str, u8) -> u64,
    /// The value of a memory cell: address, epoch, width.
    pub cell: &'a dyn Fn(u64, u32, u8) -> u64,
}

impl Terms {
    /// The value of a term.
    pub fn eval(&self, value: Bv, model: &Model<'_>) -> u64 {
        let width = self.width(value);
        let mut sum = 0u64;
        for (mono, factor) in self.terms_of(value) {
            let mut product = *factor;
            for atom in self.factors(*mono) {
                product = product.wrapping_mul(self.eval_atom(*atom, model));
            }
            sum = sum.wrapping_add(product);
        }
        sum & mask(width)
    }

    fn eval_atom(&self, atom: Atom, model: &Model<'_>) -> u64 {
        let width = self.atoms[atom.0 as usize].width;
        let ones = mask(width);
        let of = |value: Bv| self.eval(value, model);
        let signed_of = |value: Bv| signed(self.eval(value, model), self.width(value));
        let result = match self.kind(atom) {
            Kind::Var(var) => (model.variable)(self.name_of(*var), width),
            Kind::Mem(address, epoch) => (model.cell)(of(*address), *epoch, width),
            Kind::Sext(a) => signed_of(*a) as u64,
            Kind::Zext(a) => of(*a),
            Kind::Extract(a, low) => of(*a) >> low,
            Kind::Concat(parts) => {
                let (mut all, mut at) = (0u64, 0u32);
                for part in parts.iter() {
                    all |= of(*part) << at;
                    at += u32::from(self.width(*part));
                }
                all
            }
            Kind::And(a, b) => of(*a) & of(*b),
            Kind::Or(a, b) => of(*a) | of(*b),
            Kind::Xor(a, b) => of(*a) ^ of(*b),
            Kind::Shl(a, b) => match of(*b) {
                by if by < u64::from(width) => of(*a) << by,
                _ => 0,
            },
            Kind::Lshr(a, b) => match of(*b) {
                by if by < u64::from(width) => of(*a) >> by,
                _ => 0,
            },
            Kind::Ashr(a, b) => {
                let by = of(*b).min(u64::from(width) - 1);
                (signed_of(*a) >> by) as u64
            }
            Kind::Udiv(a, b) => of(*a).checked_div(of(*b)).unwrap_or(ones),
            Kind::Urem(a, b) => {
                let x = of(*a);
                x.checked_rem(of(*b)).unwrap_or(x)
            }
            Kind::Sdiv(a, b) => {
                let (x, y) = (signed_of(*a), signed_of(*b));
                match y {
                    0 if x < 0 => 1,
                    0 => ones,
                    _ => x.wrapping_div(y) as u64,
                }
            }
            Kind::Srem(a, b) => {
                let (x, y) = (signed_of(*a), signed_of(*b));
                if y == 0 {
                    x as u64
                } else {
                    x.wrapping_rem(y) as u64
                }
            }
            Kind::Smax(parts) => parts.iter().map(|p| signed_of(*p)).max().unwrap_or(0) as u64,
            Kind::Smin(parts) => parts.iter().map(|p| signed_of(*p)).min().unwrap_or(0) as u64,
            Kind::Indicator(condition) => return u64::from(self.holds(*condition, model)),
        };
        result & ones
    }

    /// Whether a condition holds.
    pub fn holds(&self, condition: Bool, model: &Model<'_>) -> bool {
        match self.formula_of(condition) {
            Formula::True => true,
            Formula::False => false,
            Formula::Zero(value) => self.eval(*value, model) == 0,
            Formula::Slt(a, b) => {
                let width = self.width(*a);
                signed(self.eval(*a, model), width) < signed(self.eval(*b, model), width)
            }
            Formula::Ult(a, b) => self.eval(*a, model) < self.eval(*b, model),
            Formula::Not(inner) => !self.holds(*inner, model),
            Formula::And(parts) => parts.iter().all(|part| self.holds(*part, model)),
            Formula::Or(parts) => parts.iter().any(|part| self.holds(*part, model)),
        }
    }
}

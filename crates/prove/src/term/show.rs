//! Terms as a person would write them.

use super::*;

impl Terms {
    /// The term as text, `name` giving the variables' names to be shown.
    pub fn show(&self, value: Bv) -> String {
        let width = self.width(value);
        let mut text = String::new();
        // the constant comes last
        let terms = self.terms_of(value);
        let ordered = terms
            .iter()
            .filter(|(mono, _)| *mono != ONE)
            .chain(terms.iter().filter(|(mono, _)| *mono == ONE));
        for (mono, factor) in ordered {
            let factor = signed(*factor, width);
            let factors: Vec<String> = self
                .factors(*mono)
                .iter()
                .map(|atom| self.show_atom(*atom))
                .collect();
            let product = factors.join("·");
            let magnitude = factor.unsigned_abs();
            let piece = match (magnitude, product.is_empty()) {
                (_, true) if magnitude > 0xffff => format!("{magnitude:#x}"),
                (_, true) => magnitude.to_string(),
                (1, false) => product,
                (_, false) => format!("{magnitude}·{product}"),
            };
            match (text.is_empty(), factor < 0) {
                (true, true) => text.push('-'),
                (true, false) => {}
                (false, true) => text.push_str(" - "),
                (false, false) => text.push_str(" + "),
            }
            text.push_str(&piece);
        }
        if text.is_empty() {
            text.push('0');
        }
        text
    }

    fn show_atom(&self, atom: Atom) -> String {
        let width = self.atoms[atom.0 as usize].width;
        let list = |parts: &[Bv]| {
            let parts: Vec<String> = parts.iter().map(|part| self.show(*part)).collect();
            parts.join(", ")
        };
        let infix = |a: Bv, op: &str, b: Bv| format!("({} {op} {})", self.show(a), self.show(b));
        match self.kind(atom) {
            Kind::Var(var) => self.name_of(*var).to_owned(),
            Kind::Mem(address, 0) => format!("M[{}]", self.show(*address)),
            Kind::Mem(address, epoch) => format!("M{epoch}[{}]", self.show(*address)),
            Kind::Sext(a) if self.terms_of(*a).len() == 1 => self.show(*a),
            Kind::Sext(a) => format!("int{width}({})", self.show(*a)),
            Kind::Zext(a) => format!("uint{width}({})", self.show(*a)),
            Kind::Extract(a, 0) => format!("low{width}({})", self.show(*a)),
            Kind::Extract(a, low) => format!("bits{low}+{width}({})", self.show(*a)),
            Kind::Concat(parts) => format!("concat({})", list(parts)),
            Kind::And(a, b) => infix(*a, "&", *b),
            Kind::Or(a, b) => infix(*a, "|", *b),
            Kind::Xor(a, b) => infix(*a, "^", *b),
            Kind::Shl(a, b) => infix(*a, "<<", *b),
            Kind::Lshr(a, b) => infix(*a, ">>>", *b),
            Kind::Ashr(a, b) => infix(*a, ">>", *b),
            Kind::Udiv(a, b) => infix(*a, "/u", *b),
            Kind::Urem(a, b) => infix(*a, "%u", *b),
            Kind::Sdiv(a, b) => infix(*a, "/", *b),
            Kind::Srem(a, b) => infix(*a, "%", *b),
            Kind::Smax(parts) => format!("max({})", list(parts)),
            Kind::Smin(parts) => format!("min({})", list(parts)),
            Kind::Indicator(condition) => format!("[{}]", self.show_condition(*condition)),
        }
    }

    /// The condition as text.
    pub fn show_condition(&self, condition: Bool) -> String {
        let list = |parts: &[Bool], op: &str| {
            let parts: Vec<String> = parts.iter().map(|p| self.show_condition(*p)).collect();
            format!("({})", parts.join(op))
        };
        match self.formula_of(condition) {
            Formula::True => "true".to_owned(),
            Formula::False => "false".to_owned(),
            Formula::Zero(a) => format!("{} = 0", self.show(*a)),
            Formula::Slt(a, b) => format!("{} < {}", self.show(*a), self.show(*b)),
            Formula::Ult(a, b) => format!("{} <u {}", self.show(*a), self.show(*b)),
            Formula::Not(inner) => match self.formula_of(*inner) {
                Formula::Zero(a) => format!("{} ≠ 0", self.show(*a)),
                Formula::Slt(a, b) => format!("{} ≤ {}", self.show(*b), self.show(*a)),
                Formula::Ult(a, b) => format!("{} ≤u {}", self.show(*b), self.show(*a)),
                _ => format!("¬{}", self.show_condition(*inner)),
            },
            Formula::And(parts) => list(parts, " ∧ "),
            Formula::Or(parts) => list(parts, " ∨ "),
        }
    }
}

//! A question as SMT-LIB text: scalar bit-vectors only, no arrays.
//!
//! Names are given in the order of first use, so that equal questions of different functions and runs have
//! equal text: the text is the key of the cache.

use std::fmt::Write as _;

use super::*;

/// Memory cells up to this number are told to be equal where their addresses are.
const MOST_CELLS: usize = 24;

struct Writer<'a> {
    terms: &'a Terms,
    text: String,
    values: FxHashMap<Bv, String>,
    atoms: FxHashMap<Atom, String>,
    conditions: FxHashMap<Bool, String>,
    cells: Vec<Atom>,
    next: u32,
}

impl Terms {
    /// The question as a script that answers `unsat` if the goal follows.
    pub(super) fn script(&mut self, question: &Question) -> String {
        let mut writer = Writer {
            terms: self,
            text: String::from("(set-logic QF_BV)\n"),
            values: FxHashMap::default(),
            atoms: FxHashMap::default(),
            conditions: FxHashMap::default(),
            cells: Vec::new(),
            next: 0,
        };
        let goal = writer.condition(question.goal);
        let mut asserted = vec![format!("(not {goal})")];
        for hypothesis in &question.hypotheses {
            let text = writer.condition(*hypothesis);
            asserted.push(text);
        }
        writer.consistency(&mut asserted);
        let mut text = writer.text;
        for condition in asserted {
            let _ = writeln!(text, "(assert {condition})");
        }
        text.push_str("(check-sat)\n");
        text
    }
}

impl Writer<'_> {
    fn fresh(&mut self, prefix: char) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn number(value: u64, width: u8) -> String {
        format!("(_ bv{value} {width})")
    }

    fn define(&mut self, prefix: char, sort: &str, body: &str) -> String {
        let name = self.fresh(prefix);
        let _ = writeln!(self.text, "(define-fun {name} () {sort} {body})");
        name
    }

    fn value(&mut self, value: Bv) -> String {
        if let Some(known) = self.values.get(&value) {
            return known.clone();
        }
        let width = self.terms.width(value);
        let terms = self.terms.terms_of(value).to_vec();
        let mut sum: Vec<String> = Vec::new();
        for (mono, factor) in terms {
            let mut product: Vec<String> = Vec::new();
            let mut guards: Vec<String> = Vec::new();
            for atom in self.terms.factors(mono).to_vec() {
                match self.terms.kind(atom) {
                    Kind::Indicator(condition) => {
                        let condition = *condition;
                        guards.push(self.condition(condition));
                    }
                    _ => product.push(self.atom(atom)),
                }
            }
            if factor != 1 || product.is_empty() {
                product.insert(0, Self::number(factor, width));
            }
            let mut text = match &product[..] {
                [only] => only.clone(),
                many => format!("(bvmul {})", many.join(" ")),
            };
            for guard in guards {
                text = format!("(ite {guard} {text} {})", Self::number(0, width));
            }
            sum.push(text);
        }
        let body = match &sum[..] {
            [] => Self::number(0, width),
            [only] => only.clone(),
            many => format!("(bvadd {})", many.join(" ")),
        };
        let name = if body.starts_with("(_ ") || !body.starts_with('(') {
            body
        } else {
            self.define('t', &format!("(_ BitVec {width})"), &body)
        };
        self.values.insert(value, name.clone());
        name
    }

    fn atom(&mut self, atom: Atom) -> String {
        if let Some(known) = self.atoms.get(&atom) {
            return known.clone();
        }
        let width = self.terms.atoms[atom.0 as usize].width;
        let sort = format!("(_ BitVec {width})");
        let kind = self.terms.kind(atom).clone();
        let binary = |writer: &mut Self, op: &str, a: Bv, b: Bv| {
            let a = writer.value(a);
            let b = writer.value(b);
            format!("({op} {a} {b})")
        };
        let body = match &kind {
            Kind::Var(_) | Kind::Mem(..) => {
                if matches!(kind, Kind::Mem(..)) {
                    self.cells.push(atom);
                }
                let name = self.fresh('v');
                let _ = writeln!(self.text, "(declare-const {name} {sort})");
                self.atoms.insert(atom, name.clone());
                return name;
            }
            Kind::Indicator(_) => String::new(), // handled where monomials are written
            Kind::Sext(inner) => {
                let by = width - self.terms.width(*inner);
                format!("((_ sign_extend {by}) {})", self.value(*inner))
            }
            Kind::Zext(inner) => {
                let by = width - self.terms.width(*inner);
                format!("((_ zero_extend {by}) {})", self.value(*inner))
            }
            Kind::Extract(inner, low) => {
                let high = low + width - 1;
                format!("((_ extract {high} {low}) {})", self.value(*inner))
            }
            Kind::Concat(parts) => {
                let parts: Vec<String> = parts.iter().rev().map(|part| self.value(*part)).collect();
                let mut parts = parts.into_iter();
                let first = parts.next().unwrap_or_default();
                parts.fold(first, |high, low| format!("(concat {high} {low})"))
            }
            Kind::And(a, b) => binary(self, "bvand", *a, *b),
            Kind::Or(a, b) => binary(self, "bvor", *a, *b),
            Kind::Xor(a, b) => binary(self, "bvxor", *a, *b),
            Kind::Shl(a, b) => binary(self, "bvshl", *a, *b),
            Kind::Lshr(a, b) => binary(self, "bvlshr", *a, *b),
            Kind::Ashr(a, b) => binary(self, "bvashr", *a, *b),
            Kind::Udiv(a, b) => binary(self, "bvudiv", *a, *b),
            Kind::Urem(a, b) => binary(self, "bvurem", *a, *b),
            Kind::Sdiv(a, b) => binary(self, "bvsdiv", *a, *b),
            Kind::Srem(a, b) => binary(self, "bvsrem", *a, *b),
            Kind::Smax(parts) | Kind::Smin(parts) => {
                let greatest = matches!(kind, Kind::Smax(_));
                let mut best = self.value(parts[0]);
                for part in &parts[1..] {
                    let part = self.value(*part);
                    let less = if greatest {
                        format!("(bvslt {best} {part})")
                    } else {
                        format!("(bvslt {part} {best})")
                    };
                    let body = format!("(ite {less} {part} {best})");
                    best = self.define('t', &sort, &body);
                }
                self.atoms.insert(atom, best.clone());
                return best;
            }
        };
        let name = self.define('t', &sort, &body);
        self.atoms.insert(atom, name.clone());
        name
    }

    fn condition(&mut self, condition: Bool) -> String {
        if let Some(known) = self.conditions.get(&condition) {
            return known.clone();
        }
        let body = match self.terms.formula_of(condition).clone() {
            Formula::True => return "true".to_owned(),
            Formula::False => return "false".to_owned(),
            Formula::Zero(value) => {
                let width = self.terms.width(value);
                format!("(= {} {})", self.value(value), Self::number(0, width))
            }
            Formula::Slt(a, b) => format!("(bvslt {} {})", self.value(a), self.value(b)),
            Formula::Ult(a, b) => format!("(bvult {} {})", self.value(a), self.value(b)),
            Formula::Not(inner) => format!("(not {})", self.condition(inner)),
            Formula::And(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.condition(*part)).collect();
                format!("(and {})", parts.join(" "))
            }
            Formula::Or(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.condition(*part)).collect();
                format!("(or {})", parts.join(" "))
            }
        };
        let name = self.define('c', "Bool", &body);
        self.conditions.insert(condition, name.clone());
        name
    }

    /// Cells of one epoch at equal addresses hold equal values.
    fn consistency(&mut self, asserted: &mut Vec<String>) {
        let cells = self.cells.clone();
        if cells.len() > MOST_CELLS {
            return;
        }
        for (index, one) in cells.iter().enumerate() {
            for other in &cells[..index] {
                let (Kind::Mem(a, epoch), Kind::Mem(b, other_epoch)) = (
                    self.terms.kind(*one).clone(),
                    self.terms.kind(*other).clone(),
                ) else {
                    continue;
                };
                if epoch != other_epoch {
                    continue;
                }
                let address = self.value(a);
                let other_address = self.value(b);
                let (x, y) = (self.atom(*one), self.atom(*other));
                asserted.push(format!("(=> (= {address} {other_address}) (= {x} {y}))"));
            }
        }
    }
}

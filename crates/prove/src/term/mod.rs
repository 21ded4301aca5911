//! Bit-vector terms in one normal form.
//!
//! *What:* every bit-vector value **is** a polynomial modulo 2^w over atoms (variables, cells of the
//! initial memory, and operations that are no polynomials). Booleans occur in monomials as idempotent
//! 0/1 *indicators*, so `ite(c, a, b)` is `b + [c]·(a - b)` and a compare mask is `-[c]`.
//!
//! *Why:* optimised machine code and source differ in shape, not in value: unrolled sums, if-converted
//! branches, blends, masked moves, strength-reduced addresses. All of these meet in this form, so
//! that most equalities are equalities of identifiers and never reach a solver.
//!
//! Terms are hash-consed in a [`Terms`] arena: equal terms have equal identifiers. The simplifier may use
//! the facts of the present [`Context`] (intervals, hypotheses); a term built under a context equals
//! the unsimplified one wherever the facts of that context hold, and nowhere else is that claimed.
//!
//! Files: `width` (extension, truncation, concatenation), `bits` (bitwise operations and shifts), `logic`
//! (booleans and comparisons), `context` (facts, intervals), `decide` (validity), `refute` (guessed counterexamples), `smt` (text for the
//! solver), `eval` (concrete values), `show` (text for people).

mod bits;
mod context;
mod decide;
mod eval;
mod logic;
mod portable;
mod refute;
mod show;
mod smt;
mod width;

pub use context::Context;
pub use decide::Question;
pub use eval::Model;
pub use portable::{Portable, PortableBool, Resolve};

use rustc_hash::FxHashMap;

/// A bit-vector term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bv(u32);

/// A boolean term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bool(u32);

/// An indivisible part of a polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Atom(u32);

/// A product of atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Mono(u32);

/// A named variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(u32);

/// The constant true.
pub const TRUE: Bool = Bool(0);
/// The constant false.
pub const FALSE: Bool = Bool(1);

const ONE: Mono = Mono(0);
/// Polynomials above this many terms are given up.
/// Bytes that the terms of one proof may take, about.
const MOST_HELD: usize = 256 << 20;
const MOST_TERMS: usize = 3000;

/// What an atom is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A variable.
    Var(Var),
    /// A cell of the memory of an epoch (a new one begins at each opaque call), at an address.
    Mem(Bv, u32),
    /// Sign extension.
    Sext(Bv),
    /// Zero extension.
    Zext(Bv),
    /// The bits from this one on.
    Extract(Bv, u8),
    /// Several parts, lowest first.
    Concat(Box<[Bv]>),
    /// Bitwise and.
    And(Bv, Bv),
    /// Bitwise or.
    Or(Bv, Bv),
    /// Bitwise exclusive or.
    Xor(Bv, Bv),
    /// Left shift by a variable amount.
    Shl(Bv, Bv),
    /// Logical right shift.
    Lshr(Bv, Bv),
    /// Arithmetic right shift.
    Ashr(Bv, Bv),
    /// Unsigned division.
    Udiv(Bv, Bv),
    /// Unsigned remainder.
    Urem(Bv, Bv),
    /// Signed division, rounding to zero.
    Sdiv(Bv, Bv),
    /// Signed remainder.
    Srem(Bv, Bv),
    /// Signed maximum, in any order.
    Smax(Box<[Bv]>),
    /// Signed minimum, in any order.
    Smin(Box<[Bv]>),
    /// 1 where the boolean holds, else 0. Has no width of its own.
    Indicator(Bool),
}

#[derive(Clone, Debug)]
struct AtomData {
    kind: Kind,
    width: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Poly {
    width: u8,
    /// Sorted by monomial; no zero coefficients.
    terms: Box<[(Mono, u64)]>,
}

/// What a boolean is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// Holds.
    True,
    /// Does not hold.
    False,
    /// The value is zero.
    Zero(Bv),
    /// Signed less than.
    Slt(Bv, Bv),
    /// Unsigned less than.
    Ult(Bv, Bv),
    /// Negation.
    Not(Bool),
    /// Conjunction.
    And(Box<[Bool]>),
    /// Disjunction.
    Or(Box<[Bool]>),
}

/// The arena of terms, with the present context.
pub struct Terms {
    atoms: Vec<AtomData>,
    atom_ids: FxHashMap<(Kind, u8), Atom>,
    monos: Vec<Box<[Atom]>>,
    mono_ids: FxHashMap<Box<[Atom]>, Mono>,
    products: FxHashMap<(Mono, Mono), Mono>,
    polys: Vec<Poly>,
    poly_ids: FxHashMap<Poly, Bv>,
    bools: Vec<Formula>,
    bool_ids: FxHashMap<Formula, Bool>,
    names: Vec<String>,
    name_ids: FxHashMap<String, Var>,
    reads_memory: FxHashMap<Bv, bool>,
    reads_memory_bool: FxHashMap<Bool, bool>,
    /// The facts the simplifier may use now.
    pub context: Context,
    /// Why terms can no longer be trusted to be meaningful (a polynomial grew too large): whoever
    /// builds terms must look before relying on them.
    pub trouble: Option<String>,
    /// Who answers what intervals cannot.
    pub(crate) solver: Option<Box<dyn crate::solver::Decide>>,
    /// Questions asked and time used.
    pub statistics: crate::solver::Statistics,
    /// No solver is asked after this.
    pub deadline: Option<std::time::Instant>,
    /// What the machine program must satisfy to not trap, to be proved where it was met.
    pub obligations: Vec<Bool>,
    deciding: u32,
    /// Bytes that the terms take, about.
    held: usize,
}

/// All ones of a width.
pub(crate) fn mask(width: u8) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

/// The signed reading of the low bits of a value.
pub(crate) fn signed(value: u64, width: u8) -> i64 {
    let unused = 64 - u32::from(width);
    ((value << unused) as i64) >> unused
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms")
            .field("atoms", &self.atoms.len())
            .finish_non_exhaustive()
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self::new()
    }
}

impl Terms {
    /// An empty arena without a solver: what intervals cannot decide is undecided.
    pub fn new() -> Self {
        let mut terms = Terms {
            atoms: Vec::new(),
            atom_ids: FxHashMap::default(),
            monos: Vec::new(),
            mono_ids: FxHashMap::default(),
            products: FxHashMap::default(),
            polys: Vec::new(),
            poly_ids: FxHashMap::default(),
            bools: Vec::new(),
            bool_ids: FxHashMap::default(),
            names: Vec::new(),
            name_ids: FxHashMap::default(),
            reads_memory: FxHashMap::default(),
            reads_memory_bool: FxHashMap::default(),
            context: Context::default(),
            trouble: None,
            solver: None,
            statistics: Default::default(),
            deadline: None,
            obligations: Vec::new(),
            deciding: 0,
            held: 0,
        };
        terms.formula(Formula::True);
        terms.formula(Formula::False);
        terms.mono(Vec::new());
        terms
    }

    fn atom(&mut self, kind: Kind, width: u8) -> Atom {
        let key = (kind, width);
        if let Some(known) = self.atom_ids.get(&key) {
            return *known;
        }
        let id = Atom(self.atoms.len() as u32);
        self.atoms.push(AtomData {
            kind: key.0.clone(),
            width,
        });
        self.atom_ids.insert(key, id);
        id
    }

    fn mono(&mut self, atoms: Vec<Atom>) -> Mono {
        let atoms = atoms.into_boxed_slice();
        if let Some(known) = self.mono_ids.get(&atoms) {
            return *known;
        }
        let id = Mono(self.monos.len() as u32);
        self.hold(atoms.len() * 8 + 64);
        self.monos.push(atoms.clone());
        self.mono_ids.insert(atoms, id);
        id
    }

    /// Counts memory: terms are never given back, and some questions make ever more of them.
    fn hold(&mut self, bytes: usize) {
        self.held += bytes;
        if self.held > MOST_HELD {
            self.trouble.get_or_insert_with(|| {
                format!(
                    "the terms of one proof need more than {} MB",
                    MOST_HELD >> 20
                )
            });
        }
    }

    fn poly(&mut self, width: u8, terms: Vec<(Mono, u64)>) -> Bv {
        let poly = Poly {
            width,
            terms: terms.into_boxed_slice(),
        };
        if let Some(known) = self.poly_ids.get(&poly) {
            return *known;
        }
        let id = Bv(self.polys.len() as u32);
        self.hold(poly.terms.len() * 32 + 96);
        self.polys.push(poly.clone());
        self.poly_ids.insert(poly, id);
        id
    }

    fn formula(&mut self, formula: Formula) -> Bool {
        if let Some(known) = self.bool_ids.get(&formula) {
            return *known;
        }
        let id = Bool(self.bools.len() as u32);
        self.hold(256);
        self.bools.push(formula.clone());
        self.bool_ids.insert(formula, id);
        id
    }

    fn kind(&self, atom: Atom) -> &Kind {
        &self.atoms[atom.0 as usize].kind
    }

    fn is_indicator(&self, atom: Atom) -> bool {
        matches!(self.kind(atom), Kind::Indicator(_))
    }

    fn terms_of(&self, value: Bv) -> &[(Mono, u64)] {
        &self.polys[value.0 as usize].terms
    }

    fn factors(&self, mono: Mono) -> &[Atom] {
        &self.monos[mono.0 as usize]
    }

    /// What a boolean is.
    pub fn formula_of(&self, condition: Bool) -> &Formula {
        &self.bools[condition.0 as usize]
    }

    /// The width in bits.
    pub fn width(&self, value: Bv) -> u8 {
        self.polys[value.0 as usize].width
    }

    /// A constant.
    pub fn constant(&mut self, value: u64, width: u8) -> Bv {
        let value = value & mask(width);
        let terms = if value == 0 {
            Vec::new()
        } else {
            vec![(ONE, value)]
        };
        self.poly(width, terms)
    }

    /// A signed constant.
    pub fn integer(&mut self, value: i64, width: u8) -> Bv {
        self.constant(value as u64, width)
    }

    /// The value, if the term is a constant.
    pub fn as_constant(&self, value: Bv) -> Option<u64> {
        match self.terms_of(value) {
            [] => Some(0),
            [(ONE, constant)] => Some(*constant),
            _ => None,
        }
    }

    /// The signed value, if the term is a constant.
    pub fn as_integer(&self, value: Bv) -> Option<i64> {
        self.as_constant(value)
            .map(|bits| signed(bits, self.width(value)))
    }

    fn of_atom(&mut self, atom: Atom) -> Bv {
        let width = self.atoms[atom.0 as usize].width;
        let mono = self.mono(vec![atom]);
        self.poly(width, vec![(mono, 1)])
    }

    fn make(&mut self, kind: Kind, width: u8) -> Bv {
        let atom = self.atom(kind, width);
        self.of_atom(atom)
    }

    /// The variable of this name.
    pub fn var(&mut self, name: &str, width: u8) -> Bv {
        let id = self.name(name);
        self.make(Kind::Var(id), width)
    }

    fn name(&mut self, name: &str) -> Var {
        if let Some(known) = self.name_ids.get(name) {
            return *known;
        }
        let id = Var(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.name_ids.insert(name.to_owned(), id);
        id
    }

    /// The name of a variable.
    pub fn name_of(&self, var: Var) -> &str {
        &self.names[var.0 as usize]
    }

    /// The cell of an epoch's memory at an address.
    pub fn cell(&mut self, address: Bv, epoch: u32, width: u8) -> Bv {
        self.make(Kind::Mem(address, epoch), width)
    }

    /// The atom, if the term is one atom with coefficient one.
    fn single(&self, value: Bv) -> Option<Atom> {
        match self.terms_of(value) {
            [(mono, 1)] => match self.factors(*mono) {
                [atom] => Some(*atom),
                _ => None,
            },
            _ => None,
        }
    }

    /// The atom with its kind, if the term is one atom with coefficient one.
    fn single_kind(&self, value: Bv) -> Option<&Kind> {
        self.single(value).map(|atom| self.kind(atom))
    }

    /// The variable, if the term is just that.
    pub fn as_var(&self, value: Bv) -> Option<Var> {
        match self.single_kind(value)? {
            Kind::Var(var) => Some(*var),
            _ => None,
        }
    }

    /// A linear combination: the sum of factor × term.
    pub fn linear(&mut self, parts: &[(u64, Bv)], width: u8) -> Bv {
        let ones = mask(width);
        let mut all: Vec<(Mono, u64)> = Vec::new();
        for (factor, value) in parts {
            debug_assert_eq!(self.width(*value), width);
            for (mono, coefficient) in self.terms_of(*value) {
                all.push((*mono, coefficient.wrapping_mul(*factor) & ones));
            }
        }
        let merged = Self::merge(all, ones);
        self.normal(width, merged)
    }

    fn merge(mut all: Vec<(Mono, u64)>, ones: u64) -> Vec<(Mono, u64)> {
        all.sort_unstable_by_key(|(mono, _)| *mono);
        let mut merged: Vec<(Mono, u64)> = Vec::with_capacity(all.len());
        for (mono, coefficient) in all {
            match merged.last_mut() {
                Some((last, sum)) if *last == mono => *sum = sum.wrapping_add(coefficient) & ones,
                _ => merged.push((mono, coefficient)),
            }
        }
        merged.retain(|(_, coefficient)| *coefficient != 0);
        merged
    }

    /// `2^k · (x >> k)` is `x - (x & (2^k - 1))`: shifts up and down and masks meet in one form.
    fn normal(&mut self, width: u8, terms: Vec<(Mono, u64)>) -> Bv {
        if terms.len() > MOST_TERMS {
            self.trouble
                .get_or_insert_with(|| format!("a value has more than {MOST_TERMS} terms"));
            return self.constant(0, width);
        }
        let shifted = terms
            .iter()
            .enumerate()
            .find_map(|(index, (mono, factor))| {
                let [atom] = self.factors(*mono) else {
                    return None;
                };
                let (of, by) = self.shifted_right(*atom)?;
                (factor.trailing_zeros() >= by).then_some((index, of, by))
            });
        let Some((index, of, by)) = shifted else {
            return self.poly(width, terms);
        };
        let factor = terms[index].1 >> by;
        let mut rest = terms;
        rest.remove(index);
        let narrow = self.width(of);
        let low = self.constant((1u64 << by) - 1, narrow);
        let low = self.and(of, low);
        let high = self.sub(of, low);
        let high = if narrow == width {
            high
        } else {
            self.zext(high, width)
        };
        let rest = self.poly(width, rest);
        self.linear(&[(1, rest), (factor, high)], width)
    }

    /// The operand and amount of a logical right shift by a constant, also below an extension (what is shifted is not negative).
    fn shifted_right(&self, atom: Atom) -> Option<(Bv, u32)> {
        match self.kind(atom) {
            Kind::Lshr(of, by) => match self.as_constant(*by) {
                Some(by) if by > 0 && by < 64 => Some((*of, by as u32)),
                _ => None,
            },
            Kind::Zext(inner) | Kind::Sext(inner) => self.shifted_right(self.single(*inner)?),
            _ => None,
        }
    }

    /// Sum.
    pub fn add(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        self.linear(&[(1, a), (1, b)], width)
    }

    /// Difference.
    pub fn sub(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        self.linear(&[(1, a), (u64::MAX, b)], width)
    }

    /// Negation.
    pub fn neg(&mut self, a: Bv) -> Bv {
        let width = self.width(a);
        self.linear(&[(u64::MAX, a)], width)
    }

    /// A multiple.
    pub fn scale(&mut self, a: Bv, factor: u64) -> Bv {
        let width = self.width(a);
        self.linear(&[(factor, a)], width)
    }

    /// A term plus a number.
    pub fn offset(&mut self, a: Bv, by: i64) -> Bv {
        if by == 0 {
            return a;
        }
        let width = self.width(a);
        let by = self.integer(by, width);
        self.add(a, by)
    }

    fn product(&mut self, a: Mono, b: Mono) -> Mono {
        if a == ONE {
            return b;
        }
        if b == ONE {
            return a;
        }
        let key = (a.min(b), a.max(b));
        if let Some(known) = self.products.get(&key) {
            return *known;
        }
        let mut atoms = self.factors(a).to_vec();
        atoms.extend_from_slice(self.factors(b));
        atoms.sort_unstable();
        let mut kept: Vec<Atom> = Vec::with_capacity(atoms.len());
        for atom in atoms {
            if kept.last() == Some(&atom) && self.is_indicator(atom) {
                continue;
            }
            kept.push(atom);
        }
        let result = self.mono(kept);
        self.products.insert(key, result);
        result
    }

    /// Product.
    pub fn mul(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        let ones = mask(width);
        if let Some(factor) = self.as_constant(a) {
            return self.scale(b, factor);
        }
        if let Some(factor) = self.as_constant(b) {
            return self.scale(a, factor);
        }
        let left = self.terms_of(a).to_vec();
        let right = self.terms_of(b).to_vec();
        if left.len() * right.len() > 2 * MOST_TERMS {
            self.trouble
                .get_or_insert_with(|| "a product of sums has too many terms".to_owned());
            return self.constant(0, width);
        }
        let mut all = Vec::with_capacity(left.len() * right.len());
        for (m, c) in &left {
            for (n, d) in &right {
                let mono = self.product(*m, *n);
                all.push((mono, c.wrapping_mul(*d) & ones));
            }
        }
        let merged = Self::merge(all, ones);
        self.normal(width, merged)
    }

    /// Indicator atoms that occur in a polynomial's monomials, in order.
    fn indicators(&self, value: Bv) -> Vec<Atom> {
        let mut found: Vec<Atom> = Vec::new();
        for (mono, _) in self.terms_of(value) {
            for atom in self.factors(*mono) {
                if self.is_indicator(*atom) && !found.contains(atom) {
                    found.push(*atom);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Whether a polynomial consists of constants and 1 to `most` indicators only.
    fn boolean_only(&self, value: Bv, most: usize) -> bool {
        let terms = self.terms_of(value);
        if terms.len() > 32 {
            return false;
        }
        let all = terms
            .iter()
            .all(|(mono, _)| self.factors(*mono).iter().all(|a| self.is_indicator(*a)));
        all && {
            let count = self.indicators(value).len();
            count > 0 && count <= most
        }
    }

    /// The polynomial with an indicator set to 0 or 1.
    fn cofactor(&mut self, value: Bv, indicator: Atom, to: bool) -> Bv {
        let width = self.width(value);
        let terms = self.terms_of(value).to_vec();
        let mut all = Vec::with_capacity(terms.len());
        for (mono, coefficient) in terms {
            let factors = self.factors(mono);
            if !factors.contains(&indicator) {
                all.push((mono, coefficient));
            } else if to {
                let left = factors
                    .iter()
                    .copied()
                    .filter(|a| *a != indicator)
                    .collect();
                all.push((self.mono(left), coefficient));
            }
        }
        let merged = Self::merge(all, mask(width));
        self.poly(width, merged)
    }

    /// `f` of polynomials over few indicators, case by case.
    fn by_cases(&mut self, values: &[Bv], width: u8, f: &dyn Fn(&mut Self, &[Bv]) -> Bv) -> Bv {
        let Some(split) = self.first_indicator(values) else {
            return f(self, values);
        };
        let on: Vec<Bv> = values
            .iter()
            .map(|v| self.cofactor(*v, split, true))
            .collect();
        let off: Vec<Bv> = values
            .iter()
            .map(|v| self.cofactor(*v, split, false))
            .collect();
        let on = self.by_cases(&on, width, f);
        let off = self.by_cases(&off, width, f);
        let mono = self.mono(vec![split]);
        let indicator = self.poly(width, vec![(mono, 1)]);
        let difference = self.sub(on, off);
        let scaled = self.mul(indicator, difference);
        self.add(off, scaled)
    }

    fn first_indicator(&self, values: &[Bv]) -> Option<Atom> {
        values
            .iter()
            .filter_map(|value| self.indicators(*value).first().copied())
            .min()
    }

    /// Whether a term mentions a memory cell.
    pub fn reads_memory(&mut self, value: Bv) -> bool {
        if let Some(known) = self.reads_memory.get(&value) {
            return *known;
        }
        let atoms = self.atoms_of(value);
        let found = atoms.into_iter().any(|atom| self.atom_reads_memory(atom));
        self.reads_memory.insert(value, found);
        found
    }

    fn atom_reads_memory(&mut self, atom: Atom) -> bool {
        let kind = self.kind(atom).clone();
        match kind {
            Kind::Mem(..) => true,
            Kind::Indicator(condition) => self.condition_reads_memory(condition),
            other => Self::operands(&other)
                .into_iter()
                .any(|operand| self.reads_memory(operand)),
        }
    }

    /// Whether a boolean mentions a memory cell.
    pub fn condition_reads_memory(&mut self, condition: Bool) -> bool {
        if let Some(known) = self.reads_memory_bool.get(&condition) {
            return *known;
        }
        let found = match self.formula_of(condition).clone() {
            Formula::True | Formula::False => false,
            Formula::Zero(a) => self.reads_memory(a),
            Formula::Slt(a, b) | Formula::Ult(a, b) => self.reads_memory(a) || self.reads_memory(b),
            Formula::Not(inner) => self.condition_reads_memory(inner),
            Formula::And(parts) | Formula::Or(parts) => {
                parts.iter().any(|part| self.condition_reads_memory(*part))
            }
        };
        self.reads_memory_bool.insert(condition, found);
        found
    }

    /// The distinct atoms of a polynomial's monomials (not those inside atoms).
    fn atoms_of(&self, value: Bv) -> Vec<Atom> {
        let mut found = Vec::new();
        for (mono, _) in self.terms_of(value) {
            found.extend_from_slice(self.factors(*mono));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The bit-vector operands of an atom.
    fn operands(kind: &Kind) -> Vec<Bv> {
        match kind {
            Kind::Var(_) | Kind::Indicator(_) => Vec::new(),
            Kind::Mem(a, _) | Kind::Sext(a) | Kind::Zext(a) | Kind::Extract(a, _) => vec![*a],
            Kind::Concat(parts) | Kind::Smax(parts) | Kind::Smin(parts) => parts.to_vec(),
            Kind::And(a, b)
            | Kind::Or(a, b)
            | Kind::Xor(a, b)
            | Kind::Shl(a, b)
            | Kind::Lshr(a, b)
            | Kind::Ashr(a, b)
            | Kind::Udiv(a, b)
            | Kind::Urem(a, b)
            | Kind::Sdiv(a, b)
            | Kind::Srem(a, b) => vec![*a, *b],
        }
    }

    /// The coefficient of a term that is one atom, in a polynomial of the same width.
    pub fn coefficient(&self, of: Bv, within: Bv) -> Option<u64> {
        let atom = self.single(of)?;
        self.terms_of(within)
            .iter()
            .find_map(|(mono, factor)| (self.factors(*mono) == [atom]).then_some(*factor))
    }

    /// The terms of a polynomial: (signed coefficient, the monomial as a term).
    pub fn addends(&mut self, value: Bv) -> Vec<(i64, Bv)> {
        let width = self.width(value);
        let terms = self.terms_of(value).to_vec();
        terms
            .into_iter()
            .map(|(mono, factor)| (signed(factor, width), self.poly(width, vec![(mono, 1)])))
            .collect()
    }

    /// Adds a condition the machine program must satisfy.
    pub fn oblige(&mut self, condition: Bool) {
        if condition != TRUE && !self.obligations.contains(&condition) {
            self.obligations.push(condition);
        }
    }

    /// Number of terms of the polynomial.
    pub fn size(&self, value: Bv) -> usize {
        self.terms_of(value).len()
    }
}

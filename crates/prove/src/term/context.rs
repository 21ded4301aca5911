//! Facts the simplifier may use, and intervals computed from them.
//!
//! An interval is over the *integers*: the value of a polynomial with its coefficients and atoms read as
//! signed integers, before any reduction modulo 2^w. Where that interval fits the width, no
//! wrapping happens, and sign extension, comparison and shifting distribute over the polynomial.

use super::*;

/// Larger than any interval that could matter; also the sign that arithmetic on intervals overflowed.
const HUGE: i128 = 1 << 120;

/// What is known. Facts are only ever added; a fork knows at least what its parent knows.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Conditions that hold.
    pub(super) hypotheses: Vec<Bool>,
    /// Signed intervals of atoms.
    ranges: FxHashMap<Atom, (i128, i128)>,
    /// Linear facts over the integers: the polynomial (64 bits, known to fit) lies in the interval.
    linear: Vec<(Bv, i128, i128)>,
    /// Sign extensions to 64 bits that the source's absence of undefined behaviour justifies.
    wide: FxHashMap<Bv, Bv>,
    /// Atoms that are multiples of a power of two: its exponent.
    multiples: FxHashMap<Atom, u32>,
    /// Addresses known to lie in an object (an index of the caller's), because the source accesses them there.
    objects: FxHashMap<Bv, u32>,
    intervals: FxHashMap<Bv, (i128, i128)>,
    pub(super) valid: FxHashMap<Bool, bool>,
}

impl Context {
    /// The conditions that hold.
    pub fn hypotheses(&self) -> &[Bool] {
        &self.hypotheses
    }

    /// The object an address is known to lie in.
    pub fn object(&self, address: Bv) -> Option<u32> {
        self.objects.get(&address).copied()
    }

    /// Records that the source accesses `address` inside an object.
    pub fn note_object(&mut self, address: Bv, object: u32) {
        self.objects.insert(address, object);
    }

    /// Whether anything was learnt from the source's accesses and operations.
    pub fn learnt(&self) -> bool {
        !self.objects.is_empty() || !self.wide.is_empty()
    }

    /// Takes over what another context learnt from the source. Sound where both describe the same
    /// initial state and the other's path is taken.
    pub fn learn_from(&mut self, other: &Context) {
        for (address, object) in &other.objects {
            self.objects.insert(*address, *object);
        }
        for (narrow, wide) in &other.wide {
            self.wide.insert(*narrow, *wide);
        }
    }

    pub(super) fn wide(&self, value: Bv) -> Option<Bv> {
        self.wide.get(&value).copied()
    }

    fn forget_caches(&mut self) {
        self.intervals.clear();
        self.valid.clear();
    }
}

impl Terms {
    /// The present context with more conditions.
    pub fn fork(&mut self, conditions: &[Bool]) -> Context {
        let parent = self.context.clone();
        for condition in conditions {
            self.assume(*condition);
        }
        std::mem::replace(&mut self.context, parent)
    }

    /// Replaces the context; returns the former one.
    pub fn enter(&mut self, context: Context) -> Context {
        std::mem::replace(&mut self.context, context)
    }

    /// Adds a condition to the present context.
    pub fn assume(&mut self, condition: Bool) {
        if condition == TRUE || self.context.hypotheses.contains(&condition) {
            return;
        }
        if let Formula::And(parts) = self.formula_of(condition).clone() {
            for part in parts.iter() {
                self.assume(*part);
            }
            return;
        }
        self.context.hypotheses.push(condition);
        self.context.forget_caches();
        self.refine(condition);
        self.refine_differences();
    }

    /// `x ≠ end of x's interval` makes the interval smaller; one may open the way for another.
    fn refine_differences(&mut self) {
        for _ in 0..4 {
            let mut changed = false;
            for hypothesis in self.context.hypotheses.clone() {
                let Formula::Not(inner) = *self.formula_of(hypothesis) else {
                    continue;
                };
                let Formula::Zero(value) = *self.formula_of(inner) else {
                    continue;
                };
                let Some((atom, factor, constant)) = self.scaled_atom(value) else {
                    continue;
                };
                if factor.abs() != 1 || !self.fits(value) {
                    continue;
                }
                let excluded = -constant * factor;
                let (low, high) = self.atom_range(atom);
                if low == excluded && low < high {
                    self.narrow(atom, low + 1, high);
                } else if high == excluded && low < high {
                    self.narrow(atom, low, high - 1);
                } else {
                    continue;
                }
                self.context.forget_caches();
                changed = true;
            }
            if !changed {
                return;
            }
        }
    }

    /// `factor · atom + constant`, if that is all.
    fn scaled_atom(&self, value: Bv) -> Option<(Atom, i128, i128)> {
        let width = self.width(value);
        let number = |factor: u64| i128::from(signed(factor, width));
        let (mono, factor, constant) = match self.terms_of(value) {
            [(mono, factor)] => (mono, number(*factor), 0),
            [(ONE, constant), (mono, factor)] | [(mono, factor), (ONE, constant)] => {
                (mono, number(*factor), number(*constant))
            }
            _ => return None,
        };
        match self.factors(*mono) {
            [atom] if !self.is_indicator(*atom) => Some((*atom, factor, constant)),
            _ => None,
        }
    }

    /// States the interval of a term that is one atom.
    pub fn bound(&mut self, value: Bv, low: i64, high: i64) {
        if let Some(atom) = self.single(value) {
            self.narrow(atom, i128::from(low), i128::from(high));
            self.context.forget_caches();
        }
    }

    fn narrow(&mut self, atom: Atom, low: i128, high: i128) {
        let (old_low, old_high) = self.atom_range(atom);
        let (low, high) = (low.max(old_low), high.min(old_high));
        if low > high {
            return; // a contradiction is the solver's to find
        }
        self.context.ranges.insert(atom, (low, high));
        if let Kind::Sext(inner) = self.kind(atom).clone()
            && let Some(inner) = self.single(inner)
            && !self.is_indicator(inner)
        {
            self.narrow(inner, low, high);
        }
        if let Kind::Lshr(of, by) = self.kind(atom).clone()
            && let (Some(of), Some(by)) = (self.single(of), self.as_constant(by))
            && by < 32
            && !self.is_indicator(of)
            && self.atom_range(of).0 >= 0
        {
            self.narrow(of, low << by, (high << by) + (1 << by) - 1);
        }
    }

    /// A comparison with a constant tightens intervals or becomes a linear fact.
    fn refine(&mut self, condition: Bool) {
        let (positive, inner) = match self.formula_of(condition) {
            Formula::Not(inner) => (false, *inner),
            _ => (true, condition),
        };
        if let Formula::Zero(value) = *self.formula_of(inner)
            && positive
            && let Some((of, bits)) = self.low_bits(value)
            && let Some(atom) = self.single(of)
            && !self.is_indicator(atom)
        {
            let known = self.context.multiples.entry(atom).or_default();
            *known = bits.max(*known);
        }
        let (value, low, high) = match self.formula_of(inner).clone() {
            Formula::Slt(a, b) => {
                let Some(constant) = self.as_integer(a) else {
                    return;
                };
                let constant = i128::from(constant);
                match positive {
                    true => (b, constant + 1, HUGE),
                    false => (b, -HUGE, constant),
                }
            }
            Formula::Zero(value) if positive => (value, 0, 0),
            _ => return,
        };
        if !self.fits(value) {
            return;
        }
        if let Some(atom) = self.single(value) {
            if !self.is_indicator(atom) {
                self.narrow(atom, low, high);
                self.context.intervals.clear();
            }
        } else if self.width(value) == 64 && self.size(value) <= 6 {
            self.context.linear.push((value, low, high));
        }
    }

    /// For `x & (2^k - 1)`, also extended or cut: x and k.
    pub(super) fn low_bits(&self, value: Bv) -> Option<(Bv, u32)> {
        self.low_bits_of(self.single(value)?)
    }

    pub(super) fn low_bits_of(&self, atom: Atom) -> Option<(Bv, u32)> {
        match self.kind(atom) {
            Kind::And(of, mask) => {
                let mask = self.as_constant(*mask)?;
                (mask & mask.wrapping_add(1) == 0).then_some((*of, mask.count_ones()))
            }
            // no bit is lost where the sign is not one of them
            Kind::Extract(inner, 0) => {
                let (of, bits) = self.low_bits(*inner)?;
                (bits < u32::from(self.atoms[atom.0 as usize].width)).then_some((of, bits))
            }
            Kind::Sext(inner) | Kind::Zext(inner) => self.low_bits(*inner),
            _ => None,
        }
    }

    /// The power of two (its exponent) that every part of a sum but its constant is a multiple of.
    pub(super) fn common_multiple(&self, value: Bv) -> u32 {
        let of_atom = |mut atom: Atom| loop {
            if let Some(known) = self.context.multiples.get(&atom) {
                return *known;
            }
            match self.kind(atom) {
                Kind::Sext(inner) | Kind::Zext(inner) => match self.single(*inner) {
                    Some(inner) => atom = inner,
                    None => return 0,
                },
                _ => return 0,
            }
        };
        self.terms_of(value)
            .iter()
            .filter(|(mono, _)| *mono != ONE)
            .map(|(mono, factor)| {
                let atoms: u32 = self.factors(*mono).iter().map(|atom| of_atom(*atom)).sum();
                factor.trailing_zeros().saturating_add(atoms)
            })
            .min()
            .unwrap_or(0)
            .min(40)
    }

    /// The constant part of a sum, as signed.
    pub(super) fn constant_part(&self, value: Bv) -> i64 {
        let width = self.width(value);
        self.terms_of(value)
            .iter()
            .find(|(mono, _)| *mono == ONE)
            .map_or(0, |(_, factor)| signed(*factor, width))
    }

    /// The interval without the ends that the sum cannot be, because its parts are multiples of a number.
    fn rounded(&self, value: Bv, (low, high): (i128, i128)) -> (i128, i128) {
        let step = 1i128 << self.common_multiple(value);
        if step == 1 {
            return (low, high);
        }
        let rest = i128::from(self.constant_part(value));
        let up = |end: i128| rest - (rest - end).div_euclid(step) * step;
        let down = |end: i128| rest + (end - rest).div_euclid(step) * step;
        (
            if low > -HUGE { up(low) } else { low },
            if high < HUGE { down(high) } else { high },
        )
    }

    /// The source computed `narrow` from operands without signed wrap: its sign extension is `wide`.
    pub fn note_wide(&mut self, narrow: Bv, wide: Bv) {
        if self.as_constant(narrow).is_none()
            && self.single(narrow).is_none()
            && self.context.wide(narrow).is_none()
            && !self.fits(narrow)
        {
            self.context.wide.insert(narrow, wide);
        }
    }

    pub(super) fn atom_range(&mut self, atom: Atom) -> (i128, i128) {
        let data = self.atoms[atom.0 as usize].clone();
        let width = data.width;
        let full = || {
            let half = 1i128 << (width.max(1) - 1);
            (-half, half - 1)
        };
        let computed = match data.kind {
            Kind::Indicator(_) => (0, 1),
            Kind::Sext(inner) => self.signed_range(inner),
            Kind::Zext(inner) => {
                let (low, high) = self.signed_range(inner);
                if low >= 0 {
                    (low, high)
                } else {
                    (0, i128::from(mask(self.width(inner))))
                }
            }
            Kind::And(_, b) => match self.as_integer(b) {
                Some(constant) if constant >= 0 => (0, i128::from(constant)),
                _ => full(),
            },
            Kind::Lshr(of, by) => match self.as_constant(by) {
                Some(by) if by > 0 && by < u64::from(width) => {
                    let (low, high) = self.signed_range(of);
                    if low >= 0 {
                        (low >> by, high >> by)
                    } else {
                        (0, i128::from(mask(width) >> by))
                    }
                }
                _ => full(),
            },
            Kind::Ashr(of, by) => match self.as_constant(by) {
                Some(by) if by > 0 && by < u64::from(width) => {
                    let (low, high) = self.signed_range(of);
                    (low >> by, high >> by)
                }
                _ => full(),
            },
            Kind::Extract(inner, 0) => {
                let (low, high) = self.range(inner);
                let half = 1i128 << (width - 1);
                if -half <= low && high < half {
                    (low, high)
                } else {
                    full()
                }
            }
            Kind::Smax(parts) | Kind::Smin(parts) => {
                let all: Vec<_> = parts.iter().map(|part| self.signed_range(*part)).collect();
                let greatest = matches!(self.kind(atom), Kind::Smax(_));
                let pick = |ends: Vec<i128>| {
                    let end = if greatest {
                        ends.iter().max()
                    } else {
                        ends.iter().min()
                    };
                    end.copied().unwrap_or(0)
                };
                (
                    pick(all.iter().map(|range| range.0).collect()),
                    pick(all.iter().map(|range| range.1).collect()),
                )
            }
            Kind::Udiv(of, by) => {
                let (low, high) = self.signed_range(of);
                match self.as_integer(by) {
                    Some(by) if low >= 0 && by > 0 => (low / i128::from(by), high / i128::from(by)),
                    _ => full(),
                }
            }
            Kind::Urem(_, by) => match self.as_integer(by) {
                Some(by) if by > 0 => (0, i128::from(by) - 1),
                _ => full(),
            },
            Kind::Sdiv(of, by) => {
                let (low, high) = self.signed_range(of);
                match self.as_integer(by) {
                    Some(by) if by > 0 => (low / i128::from(by), high / i128::from(by)),
                    _ => full(),
                }
            }
            Kind::Srem(of, by) => {
                let (low, _) = self.signed_range(of);
                match self.as_integer(by) {
                    Some(by) if by > 0 => {
                        let most = i128::from(by) - 1;
                        (if low >= 0 { 0 } else { -most }, most)
                    }
                    _ => full(),
                }
            }
            _ => full(),
        };
        match self.context.ranges.get(&atom) {
            Some((low, high)) => (computed.0.max(*low), computed.1.min(*high)),
            None => computed,
        }
    }

    /// The interval of the polynomial over the integers (it may exceed the width).
    pub fn range(&mut self, value: Bv) -> (i128, i128) {
        if let Some(known) = self.context.intervals.get(&value) {
            return *known;
        }
        let width = self.width(value);
        let terms = self.terms_of(value).to_vec();
        let (mut low, mut high) = (0i128, 0i128);
        for (mono, factor) in terms {
            let factor = i128::from(signed(factor, width));
            let (mut least, mut most) = (factor, factor);
            for atom in self.factors(mono).to_vec() {
                let (x, y) = self.atom_range(atom);
                let products = [least, most]
                    .into_iter()
                    .flat_map(|a| [a.checked_mul(x), a.checked_mul(y)])
                    .map(|product| product.filter(|p| p.abs() < HUGE));
                let (mut lo, mut hi) = (HUGE, -HUGE);
                for product in products {
                    match product {
                        Some(product) => {
                            lo = lo.min(product);
                            hi = hi.max(product);
                        }
                        None => {
                            lo = -HUGE;
                            hi = HUGE;
                        }
                    }
                }
                (least, most) = (lo, hi);
            }
            low = (low + least).max(-HUGE);
            high = (high + most).min(HUGE);
        }
        self.context.intervals.insert(value, (low, high));
        (low, high)
    }

    /// Whether no wrapping can happen in the polynomial, read as signed.
    pub fn fits(&mut self, value: Bv) -> bool {
        let width = self.width(value);
        self.fits_in(value, width)
    }

    pub(super) fn fits_in(&mut self, value: Bv, width: u8) -> bool {
        let (low, high) = self.range(value);
        let half = 1i128 << (width - 1);
        -half <= low && high < half
    }

    /// The signed interval of the value itself.
    pub fn signed_range(&mut self, value: Bv) -> (i128, i128) {
        let (low, high) = self.range(value);
        let half = 1i128 << (self.width(value).max(1) - 1);
        if -half <= low && high < half {
            (low, high)
        } else {
            (-half, half - 1)
        }
    }

    /// The interval of a 64-bit polynomial over the integers, using linear hypotheses too: each is
    /// tried for cancelling one of the polynomial's atoms, twice over.
    pub(super) fn best_range(&mut self, value: Bv, depth: u32) -> (i128, i128) {
        let (mut low, mut high) = self.range(value);
        if depth == 0 || self.width(value) != 64 || self.size(value) > 6 {
            return self.rounded(value, (low, high));
        }
        let facts = self.context.linear.clone();
        for (fact, least, most) in facts {
            for (mono, theirs) in self.terms_of(fact).to_vec() {
                if mono == ONE {
                    continue;
                }
                let ours = self.terms_of(value).iter().find(|(m, _)| *m == mono);
                let Some((_, ours)) = ours else { continue };
                let (ours, theirs) = (*ours as i64, theirs as i64);
                if theirs == 0 || ours % theirs != 0 {
                    continue;
                }
                let factor = ours / theirs;
                // the identity below must hold over the integers, not only modulo 2^64
                let small = |terms: &Self, of: Bv, by: u64| {
                    terms.terms_of(of).iter().all(|(_, c)| {
                        let product = (*c as i64).unsigned_abs().checked_mul(by);
                        product.is_some_and(|p| p < 1 << 62)
                    })
                };
                if !small(self, value, 1) || !small(self, fact, factor.unsigned_abs()) {
                    continue;
                }
                // value = factor·fact + rest
                let rest = self.linear(&[(1, value), ((-factor) as u64, fact)], 64);
                if self.size(rest) >= self.size(value) + 2 {
                    continue;
                }
                let (rest_low, rest_high) = self.best_range(rest, depth - 1);
                let (least, most) = self.rounded(fact, (least, most));
                let factor = i128::from(factor);
                let (a, b) = if factor > 0 {
                    (least, most)
                } else {
                    (most, least)
                };
                // ends that are not known stay far outside
                if a.abs() < HUGE && rest_low > -HUGE {
                    low = low.max(factor * a + rest_low);
                }
                if b.abs() < HUGE && rest_high < HUGE {
                    high = high.min(factor * b + rest_high);
                }
            }
        }
        self.rounded(value, (low, high))
    }
}

//! Changes of width: extension, truncation, bit fields, concatenation.

use super::*;

impl Terms {
    /// Rebuilds a polynomial at another width, atom by atom (each through `f`), coefficients read as signed.
    fn rebuild(&mut self, value: Bv, width: u8, f: &dyn Fn(&mut Self, Bv) -> Bv) -> Bv {
        let narrow = self.width(value);
        let terms = self.terms_of(value).to_vec();
        let mut parts = Vec::with_capacity(terms.len());
        for (mono, factor) in terms {
            let mut product = self.constant(1, width);
            for atom in self.factors(mono).to_vec() {
                let factor = if self.is_indicator(atom) {
                    let mono = self.mono(vec![atom]);
                    self.poly(width, vec![(mono, 1)])
                } else {
                    let term = self.of_atom(atom);
                    f(self, term)
                };
                product = self.mul(product, factor);
            }
            parts.push((signed(factor, narrow) as u64, product));
        }
        self.linear(&parts, width)
    }

    /// The low bits.
    pub fn trunc(&mut self, value: Bv, width: u8) -> Bv {
        if self.width(value) == width {
            return value;
        }
        if let Some(constant) = self.as_constant(value) {
            return self.constant(constant, width);
        }
        self.rebuild(value, width, &|terms, atom| terms.trunc_atom(atom, width))
    }

    fn trunc_atom(&mut self, atom: Bv, width: u8) -> Bv {
        let Some(kind) = self.single_kind(atom).cloned() else {
            return self.make(Kind::Extract(atom, 0), width);
        };
        match kind {
            Kind::Sext(inner) | Kind::Zext(inner) if self.width(inner) >= width => {
                self.trunc(inner, width)
            }
            Kind::Sext(inner) => self.sext(inner, width),
            Kind::Zext(inner) => self.zext(inner, width),
            Kind::Extract(inner, low) => self.extract(inner, low, width),
            Kind::Concat(parts) => self.extract_concat(&parts, 0, width),
            // as `and_constant` writes it
            Kind::And(_, b) if self.as_constant(b).is_some_and(|y| y < 1 << (width - 1)) => {
                self.make(Kind::Extract(atom, 0), width)
            }
            Kind::And(a, b) => {
                let (a, b) = (self.trunc(a, width), self.trunc(b, width));
                self.and(a, b)
            }
            Kind::Or(a, b) => {
                let (a, b) = (self.trunc(a, width), self.trunc(b, width));
                self.or(a, b)
            }
            Kind::Xor(a, b) => {
                let (a, b) = (self.trunc(a, width), self.trunc(b, width));
                self.xor(a, b)
            }
            // bits 32.. of 2^k·x shifted down again
            Kind::Lshr(of, by) | Kind::Ashr(of, by) => match self.as_constant(by) {
                Some(by) if by + u64::from(width) <= u64::from(self.width(of)) => {
                    self.extract(of, by as u8, width)
                }
                _ => self.make(Kind::Extract(atom, 0), width),
            },
            _ => self.make(Kind::Extract(atom, 0), width),
        }
    }

    /// Sign extension.
    pub fn sext(&mut self, value: Bv, width: u8) -> Bv {
        self.sext_with(value, width, true)
    }

    /// Sign extension that asks no solver.
    pub(super) fn sext_cheaply(&mut self, value: Bv, width: u8) -> Bv {
        self.sext_with(value, width, false)
    }

    fn sext_with(&mut self, value: Bv, width: u8, ask: bool) -> Bv {
        let narrow = self.width(value);
        if narrow == width {
            return value;
        }
        if let Some(constant) = self.as_constant(value) {
            return self.integer(signed(constant, narrow), width);
        }
        if let Some(atom) = self.single(value) {
            match self.kind(atom).clone() {
                Kind::Indicator(_) => {
                    let factor = if narrow == 1 { mask(width) } else { 1 };
                    let mono = self.mono(vec![atom]);
                    return self.poly(width, vec![(mono, factor)]);
                }
                Kind::Zext(inner) => return self.zext(inner, width),
                Kind::Sext(inner) => return self.sext_with(inner, width, ask),
                Kind::Extract(inner, 0)
                    if self.width(inner) == width && self.fits_in(inner, narrow) =>
                {
                    return inner;
                }
                Kind::Extract(inner, 0)
                    if self.width(inner) < width && self.fits_in(inner, narrow) =>
                {
                    return self.sext_with(inner, width, ask);
                }
                _ => return self.make(Kind::Sext(value), width),
            }
        }
        if self.boolean_only(value, 3) {
            return self.by_cases(&[value], width, &|terms, v| terms.sext(v[0], width));
        }
        let fits = self.fits(value);
        if !fits
            && width == 64
            && let Some(wide) = self.context.wide(value)
        {
            return wide;
        }
        if fits || (ask && self.fits_by_hypotheses(value)) {
            return self.rebuild(value, width, &|terms, atom| {
                terms.sext_with(atom, width, ask)
            });
        }
        self.make(Kind::Sext(value), width)
    }

    /// A sum with every part extended by itself: the value over the integers, if it does not wrap.
    pub(super) fn widened(&mut self, value: Bv) -> Option<Bv> {
        let linear = self
            .terms_of(value)
            .iter()
            .all(|(mono, _)| self.factors(*mono).len() <= 1);
        linear.then(|| self.rebuild(value, 64, &|terms, atom| terms.sext_cheaply(atom, 64)))
    }

    /// Whether the hypotheses exclude wrapping in a short sum.
    fn fits_by_hypotheses(&mut self, value: Bv) -> bool {
        let narrow = self.width(value);
        if narrow != 32 || self.size(value) > 4 || self.context.hypotheses.is_empty() {
            return false;
        }
        let linear = self
            .terms_of(value)
            .iter()
            .all(|(mono, _)| self.factors(*mono).len() <= 1);
        if !linear {
            return false;
        }
        let wide = self.rebuild(value, 64, &|terms, atom| terms.sext_cheaply(atom, 64));
        let least = self.integer(-(1 << 31), 64);
        let most = self.integer((1 << 31) - 1, 64);
        let below = self.slt(wide, least);
        let above = self.slt(most, wide);
        let outside = self.or_all(&[below, above]);
        self.infeasible(outside)
    }

    /// Zero extension.
    pub fn zext(&mut self, value: Bv, width: u8) -> Bv {
        let narrow = self.width(value);
        if narrow == width {
            return value;
        }
        if let Some(constant) = self.as_constant(value) {
            return self.constant(constant, width);
        }
        if let Some(Kind::Zext(inner)) = self.single_kind(value).cloned() {
            return self.zext(inner, width);
        }
        if self.boolean_only(value, 3) {
            return self.by_cases(&[value], width, &|terms, v| terms.zext(v[0], width));
        }
        if let Some(Kind::Extract(inner, 0)) = self.single_kind(value).cloned()
            && self.width(inner) == width
        {
            let (low, high) = self.range(inner);
            if low >= 0 && high <= i128::from(mask(narrow)) {
                return inner;
            }
        }
        let (low, high) = self.range(value);
        if low >= 0 && high < 1i128 << (narrow - 1) {
            return self.sext(value, width);
        }
        if narrow == 32
            && self.size(value) <= 4
            && !self.context.hypotheses.is_empty()
            && !self.reads_memory(value)
        {
            let zero = self.constant(0, narrow);
            let negative = self.slt(value, zero);
            if self.infeasible(negative) {
                return self.sext(value, width);
            }
        }
        // a truncated 64-bit sum that is a small number: the whole is that number
        self.make(Kind::Zext(value), width)
    }

    /// The bits `low .. low + width`.
    pub fn extract(&mut self, value: Bv, low: u8, width: u8) -> Bv {
        let whole = self.width(value);
        if low == 0 {
            return self.trunc(value, width);
        }
        if let Some(constant) = self.as_constant(value) {
            return self.constant(constant >> low, width);
        }
        if self.boolean_only(value, 3) {
            return self.by_cases(&[value], width, &|terms, v| terms.extract(v[0], low, width));
        }
        match self.single_kind(value).cloned() {
            Some(Kind::Concat(parts)) => return self.extract_concat(&parts, low, width),
            Some(Kind::Extract(inner, from)) => return self.extract(inner, from + low, width),
            Some(Kind::Zext(inner)) => {
                let narrow = self.width(inner);
                if low >= narrow {
                    return self.constant(0, width);
                }
                if low + width <= narrow {
                    return self.extract(inner, low, width);
                }
                let part = self.extract(inner, low, narrow - low);
                return self.zext(part, width);
            }
            Some(Kind::Sext(inner)) => {
                let narrow = self.width(inner);
                if low >= narrow {
                    return self.sign_of(inner, width);
                }
                if low + width <= narrow {
                    return self.extract(inner, low, width);
                }
                let part = self.extract(inner, low, narrow - low);
                return self.sext(part, width);
            }
            Some(Kind::And(a, b)) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.and(a, b);
            }
            Some(Kind::Or(a, b)) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.or(a, b);
            }
            Some(Kind::Xor(a, b)) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.xor(a, b);
            }
            _ => {}
        }
        // bits of a multiple of 2^low
        let multiple = self
            .terms_of(value)
            .iter()
            .all(|(_, factor)| factor.trailing_zeros() >= u32::from(low));
        if multiple {
            let terms = self.terms_of(value).to_vec();
            let divided = terms
                .into_iter()
                .map(|(m, factor)| (m, factor >> low))
                .collect();
            let divided = self.poly(whole, divided);
            return self.trunc(divided, width);
        }
        let (least, most) = self.range(value);
        let half = 1i128 << (whole - 1);
        if least >= 0 && most < half {
            if low < 127 && most < 1i128 << low {
                return self.constant(0, width);
            }
        } else if -half <= least && most < half && low + width == whole && low >= 32 {
            let limit = 1i128 << (low - 1);
            if -limit <= least && most < limit {
                let narrow = self.trunc(value, low);
                return self.sign_of(narrow, width);
            }
        }
        self.make(Kind::Extract(value, low), width)
    }

    fn extract_concat(&mut self, parts: &[Bv], low: u8, width: u8) -> Bv {
        let mut at = 0;
        let mut chosen = Vec::new();
        for part in parts {
            let size = self.width(*part);
            let from = low.max(at);
            let to = (low + width).min(at + size);
            if from < to {
                chosen.push(self.extract(*part, from - at, to - from));
            }
            at += size;
        }
        self.concat(&chosen)
    }

    /// All ones where the value is negative, else zero.
    pub fn sign_of(&mut self, value: Bv, width: u8) -> Bv {
        let zero = self.constant(0, self.width(value));
        let negative = self.slt(value, zero);
        let ones = self.integer(-1, width);
        let zero = self.constant(0, width);
        self.ite(negative, ones, zero)
    }

    /// Parts side by side, lowest first (at most 64 bits in all).
    pub fn concat(&mut self, parts: &[Bv]) -> Bv {
        let mut flat: Vec<Bv> = Vec::with_capacity(parts.len());
        for part in parts {
            match self.single_kind(*part).cloned() {
                Some(Kind::Concat(inner)) => {
                    for piece in inner.iter() {
                        self.append(&mut flat, *piece);
                    }
                }
                _ => self.append(&mut flat, *part),
            }
        }
        let width: u8 = flat.iter().map(|part| self.width(*part)).sum();
        if let [only] = flat[..] {
            return only;
        }
        let low = flat[0];
        let low_width = self.width(low);
        if flat[1..]
            .iter()
            .all(|part| self.as_constant(*part) == Some(0))
        {
            return self.zext(low, width);
        }
        if let [_, high] = flat[..] {
            if high == self.sign_of(low, width - low_width) {
                return self.sext(low, width);
            }
            if self.boolean_only(low, 2) && self.boolean_only(high, 2) {
                let low_bits = self.width(low);
                return self.by_cases(&[low, high], width, &|terms, v| {
                    let low = terms.as_constant(v[0]).unwrap_or(0);
                    let high = terms.as_constant(v[1]).unwrap_or(0);
                    terms.constant(low | high << low_bits, width)
                });
            }
        }
        self.make(Kind::Concat(flat.into_boxed_slice()), width)
    }

    /// Adds a part above the others, joined with the one below where they are neighbours in one value.
    fn append(&mut self, flat: &mut Vec<Bv>, part: Bv) {
        let Some(last) = flat.last().copied() else {
            flat.push(part);
            return;
        };
        let last_width = self.width(last);
        let width = self.width(part);
        if let (Some(a), Some(b)) = (self.as_constant(last), self.as_constant(part)) {
            let joined = self.constant(a | b << last_width, last_width + width);
            flat.pop();
            self.append(flat, joined);
            return;
        }
        if let Some(Kind::Extract(of, from)) = self.single_kind(part).cloned() {
            let joined = match self.single_kind(last).cloned() {
                Some(Kind::Extract(below, at)) if below == of && at + last_width == from => {
                    Some(at)
                }
                _ if from >= last_width && {
                    let candidate = self.extract(of, from - last_width, last_width);
                    candidate == last
                } =>
                {
                    Some(from - last_width)
                }
                _ => None,
            };
            if let Some(at) = joined {
                let whole = self.extract(of, at, last_width + width);
                flat.pop();
                self.append(flat, whole);
                return;
            }
        }
        flat.push(part);
    }
}

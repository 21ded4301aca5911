//! Booleans, comparisons and choice, in canonical form.
//!
//! Only `Zero`, `Slt` and `Ult` compare. `x < c` is written `¬(c - 1 < x)`. Comparisons that cannot wrap and
//! read no memory are lifted to 64 bits, reduced to "constant < sum" with coefficients without a common
//! factor and a positive leading one: so a machine's `4·rax ≠ 128000` and the source's `i < 32000` become
//! comparisons of the same sum.

use super::*;

impl Terms {
    /// Negation.
    pub fn not(&mut self, a: Bool) -> Bool {
        match self.formula_of(a) {
            Formula::True => FALSE,
            Formula::False => TRUE,
            Formula::Not(inner) => *inner,
            _ => self.formula(Formula::Not(a)),
        }
    }

    /// Conjunction.
    pub fn and_all(&mut self, parts: &[Bool]) -> Bool {
        let mut all = Vec::new();
        for part in parts {
            match self.formula_of(*part) {
                Formula::And(inner) => all.extend_from_slice(inner),
                _ => all.push(*part),
            }
        }
        all.sort_unstable();
        all.dedup();
        all.retain(|part| *part != TRUE);
        for index in 0..all.len() {
            let negated = self.not(all[index]);
            if all[index] == FALSE || all.contains(&negated) {
                return FALSE;
            }
        }
        match all[..] {
            [] => TRUE,
            [only] => only,
            _ => self.formula(Formula::And(all.into_boxed_slice())),
        }
    }

    /// Disjunction.
    pub fn or_all(&mut self, parts: &[Bool]) -> Bool {
        let mut all = Vec::new();
        for part in parts {
            match self.formula_of(*part) {
                Formula::Or(inner) => all.extend_from_slice(inner),
                _ => all.push(*part),
            }
        }
        all.sort_unstable();
        all.dedup();
        all.retain(|part| *part != FALSE);
        for index in 0..all.len() {
            let negated = self.not(all[index]);
            if all[index] == TRUE || all.contains(&negated) {
                return TRUE;
            }
        }
        match all[..] {
            [] => FALSE,
            [only] => only,
            _ => self.formula(Formula::Or(all.into_boxed_slice())),
        }
    }

    /// 1 where the condition holds, else 0.
    pub fn indicator(&mut self, condition: Bool, width: u8) -> Bv {
        match self.formula_of(condition).clone() {
            Formula::True => self.constant(1, width),
            Formula::False => self.constant(0, width),
            Formula::Not(inner) => {
                let one = self.constant(1, width);
                let inner = self.indicator(inner, width);
                self.sub(one, inner)
            }
            Formula::And(parts) => {
                let mut product = self.constant(1, width);
                for part in parts.iter() {
                    let part = self.indicator(*part, width);
                    product = self.mul(product, part);
                }
                product
            }
            Formula::Or(parts) if parts.len() <= 3 => {
                let one = self.constant(1, width);
                let mut none = one;
                for part in parts.iter() {
                    let part = self.indicator(*part, width);
                    let part = self.sub(one, part);
                    none = self.mul(none, part);
                }
                self.sub(one, none)
            }
            _ => {
                let atom = self.atom(Kind::Indicator(condition), 0);
                let mono = self.mono(vec![atom]);
                self.poly(width, vec![(mono, 1)])
            }
        }
    }

    fn condition_of(&self, indicator: Atom) -> Bool {
        match self.kind(indicator) {
            Kind::Indicator(condition) => *condition,
            _ => TRUE,
        }
    }

    /// A predicate of polynomials over few indicators, case by case.
    fn decide_by_cases(&mut self, values: &[Bv], f: &dyn Fn(&mut Self, &[Bv]) -> Bool) -> Bool {
        let Some(split) = self.first_indicator(values) else {
            return f(self, values);
        };
        let condition = self.condition_of(split);
        let on: Vec<Bv> = values
            .iter()
            .map(|v| self.cofactor(*v, split, true))
            .collect();
        let off: Vec<Bv> = values
            .iter()
            .map(|v| self.cofactor(*v, split, false))
            .collect();
        let on = self.decide_by_cases(&on, f);
        let off = self.decide_by_cases(&off, f);
        if on == off {
            return on;
        }
        let on = self.and_all(&[condition, on]);
        let negated = self.not(condition);
        let off = self.and_all(&[negated, off]);
        self.or_all(&[on, off])
    }

    /// Splits off the constant and the common factor of the other coefficients (at most 64 bits, no wrap).
    /// `value = factor · sum + constant`, the leading coefficient of `sum` positive (`factor` may be negative).
    fn factored(&mut self, value: Bv) -> (i128, Bv, i128) {
        let width = self.width(value);
        let mut constant = 0i128;
        let mut common = 0i128;
        let terms = self.terms_of(value).to_vec();
        for (mono, factor) in &terms {
            let factor = i128::from(signed(*factor, width));
            if *mono == ONE {
                constant = factor;
            } else {
                common = gcd(common, factor.abs());
            }
        }
        let leading = terms.iter().find(|(mono, _)| *mono != ONE);
        if leading.is_some_and(|(_, factor)| signed(*factor, width) < 0) {
            common = -common;
        }
        let rest = terms
            .into_iter()
            .filter(|(mono, _)| *mono != ONE)
            .map(|(mono, factor)| {
                let factor = i128::from(signed(factor, width)) / common;
                (mono, factor as u64 & mask(width))
            })
            .collect();
        (common, self.poly(width, rest), constant)
    }

    /// Equality.
    pub fn eq(&mut self, a: Bv, b: Bv) -> Bool {
        let mut difference = self.sub(a, b);
        if let Some(constant) = self.as_constant(difference) {
            return if constant == 0 { TRUE } else { FALSE };
        }
        if self.boolean_only(difference, 4) {
            return self.decide_by_cases(&[difference], &|terms, v| {
                if terms.as_constant(v[0]) == Some(0) {
                    TRUE
                } else {
                    FALSE
                }
            });
        }
        if let Some(Kind::Zext(inner) | Kind::Sext(inner)) = self.single_kind(difference).cloned() {
            let zero = self.constant(0, self.width(inner));
            return self.eq(inner, zero);
        }
        if self.fits(difference) {
            let (low, high) = self.range(difference);
            if low > 0 || high < 0 {
                return FALSE;
            }
            if !self.reads_memory(difference) {
                if self.width(difference) < 64 {
                    difference = self.sext_cheaply(difference, 64);
                    if self.as_constant(difference).is_some() {
                        // cannot happen for a sum that fits; stay on the safe side
                        return self.formula(Formula::Zero(difference));
                    }
                }
                let (factor, sum, constant) = self.factored(difference);
                if constant % factor != 0 {
                    return FALSE;
                }
                let constant = self.integer((constant / factor) as i64, 64);
                difference = self.add(sum, constant);
                return self.formula(Formula::Zero(difference));
            }
        }
        let width = self.width(difference);
        let leading = self.terms_of(difference).iter().find(|(m, _)| *m != ONE);
        if leading.is_some_and(|(_, factor)| signed(*factor, width) < 0) {
            difference = self.neg(difference);
        }
        self.formula(Formula::Zero(difference))
    }

    /// Signed less than.
    pub fn slt(&mut self, a: Bv, b: Bv) -> Bool {
        let width = self.width(a);
        if a == b {
            return FALSE;
        }
        let (x, y) = (self.as_integer(a), self.as_integer(b));
        if let (Some(x), Some(y)) = (x, y) {
            return if x < y { TRUE } else { FALSE };
        }
        let (a_low, a_high) = self.signed_range(a);
        let (b_low, b_high) = self.signed_range(b);
        if a_high < b_low {
            return TRUE;
        }
        if a_low >= b_high {
            return FALSE;
        }
        let boolean = |terms: &Self, v: Bv, constant: Option<i64>| {
            constant.is_some() || terms.boolean_only(v, 3)
        };
        if boolean(self, a, x) && boolean(self, b, y) {
            return self.decide_by_cases(&[a, b], &|terms, v| {
                let less = terms.as_integer(v[0]) < terms.as_integer(v[1]);
                if less { TRUE } else { FALSE }
            });
        }
        if self.fits(a) && self.fits(b) && !self.reads_memory(a) && !self.reads_memory(b) {
            let wide_a = self.sext_cheaply(a, 64);
            let wide_b = self.sext_cheaply(b, 64);
            let difference = self.sub(wide_a, wide_b);
            if self.fits(difference) && self.as_constant(difference).is_none() {
                return self.below_zero(difference);
            }
        }
        if let Some(y) = y {
            if y == signed(1 << (width - 1), width) {
                return FALSE;
            }
            let before = self.integer(y - 1, width);
            let greater = self.slt(before, a);
            return self.not(greater);
        }
        self.formula(Formula::Slt(a, b))
    }

    /// `difference < 0` over the integers, canonically.
    fn below_zero(&mut self, difference: Bv) -> Bool {
        let (low, high) = self.range(difference);
        if high < 0 {
            return TRUE;
        }
        if low >= 0 {
            return FALSE;
        }
        // factor·sum + constant < 0
        let (factor, sum, constant) = self.factored(difference);
        let greater = |terms: &mut Self, limit: i128| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let limit = terms.integer(limit, 64);
            terms.formula(Formula::Slt(limit, sum))
        };
        if factor > 0 {
            // sum < -constant/factor, so sum <= ceil(-constant/factor) - 1
            let limit = (-constant).div_euclid(factor)
                + i128::from((-constant).rem_euclid(factor) != 0)
                - 1;
            let above = greater(self, limit);
            self.not(above)
        } else {
            // |factor|·sum > constant
            let limit = constant.div_euclid(-factor);
            greater(self, limit)
        }
    }

    /// Unsigned less than.
    pub fn ult(&mut self, a: Bv, b: Bv) -> Bool {
        let width = self.width(a);
        if a == b {
            return FALSE;
        }
        let (x, y) = (self.as_constant(a), self.as_constant(b));
        match (x, y) {
            (Some(x), Some(y)) => return if x < y { TRUE } else { FALSE },
            (_, Some(0)) => return FALSE,
            (_, Some(1)) => {
                let zero = self.constant(0, width);
                return self.eq(a, zero);
            }
            (Some(x), _) if x == mask(width) => return FALSE,
            (Some(0), _) => {
                let zero = self.constant(0, width);
                let zero = self.eq(b, zero);
                return self.not(zero);
            }
            _ => {}
        }
        if self.signed_range(a).0 >= 0 && self.signed_range(b).0 >= 0 {
            return self.slt(a, b);
        }
        let boolean = |terms: &Self, v: Bv, constant: Option<u64>| {
            constant.is_some() || terms.boolean_only(v, 3)
        };
        if boolean(self, a, x) && boolean(self, b, y) {
            return self.decide_by_cases(&[a, b], &|terms, v| {
                let less = terms.as_constant(v[0]) < terms.as_constant(v[1]);
                if less { TRUE } else { FALSE }
            });
        }
        if let Some(y) = y {
            let before = self.constant(y - 1, width);
            let greater = self.ult(before, a);
            return self.not(greater);
        }
        self.formula(Formula::Ult(a, b))
    }

    /// `condition ? a : b`.
    pub fn ite(&mut self, condition: Bool, a: Bv, b: Bv) -> Bv {
        if a == b || condition == TRUE {
            return a;
        }
        if condition == FALSE {
            return b;
        }
        let width = self.width(a);
        let (condition, a, b) = match self.formula_of(condition) {
            Formula::Not(inner) => (*inner, b, a),
            _ => (condition, a, b),
        };
        if let Formula::Slt(p, q) = self.formula_of(condition).clone()
            && let Some(extreme) = self.as_extreme(p, q, a, b)
        {
            return extreme;
        }
        let guard = self.indicator(condition, width);
        let difference = self.sub(a, b);
        let part = self.mul(guard, difference);
        self.add(b, part)
    }

    /// `p < q ? a : b` where that is a maximum or a minimum.
    fn as_extreme(&mut self, p: Bv, q: Bv, a: Bv, b: Bv) -> Option<Bv> {
        let width = self.width(a);
        if self.width(p) == width {
            if a == q && b == p {
                return Some(self.smax(&[a, b]));
            }
            if a == p && b == q {
                return Some(self.smin(&[a, b]));
            }
            if let Some(k) = self.as_integer(p) {
                let next = self.integer(k.wrapping_add(1), width);
                if a == q && b == next {
                    return Some(self.smax(&[a, b]));
                }
                if b == q && a == next {
                    return Some(self.smin(&[a, b]));
                }
            }
        }
        // lifted: q - p >= 1 where the condition holds
        let small = self
            .as_integer(p)
            .is_some_and(|k| k.unsigned_abs() < 1 << 62);
        if self.width(p) != 64 || width == 64 || !small || self.reads_memory(q) {
            return None;
        }
        let wide_a = self.sext_cheaply(a, 64);
        let wide_b = self.sext_cheaply(b, 64);
        let difference = self.sub(wide_a, wide_b);
        let gap = self.sub(q, p);
        let gap_less = self.offset(gap, -1);
        if difference == gap || difference == gap_less {
            return Some(self.smax(&[a, b]));
        }
        let negated = self.neg(difference);
        if negated == gap || negated == gap_less {
            return Some(self.smin(&[a, b]));
        }
        None
    }

    /// Signed maximum.
    pub fn smax(&mut self, values: &[Bv]) -> Bv {
        self.extreme(values, true)
    }

    /// Signed minimum.
    pub fn smin(&mut self, values: &[Bv]) -> Bv {
        self.extreme(values, false)
    }

    fn extreme(&mut self, values: &[Bv], greatest: bool) -> Bv {
        let mut all: Vec<Bv> = Vec::new();
        for value in values {
            match self.single_kind(*value) {
                Some(Kind::Smax(parts)) if greatest => all.extend_from_slice(parts),
                Some(Kind::Smin(parts)) if !greatest => all.extend_from_slice(parts),
                _ => all.push(*value),
            }
        }
        all.sort_unstable();
        all.dedup();
        // an operand that another one always exceeds does not count
        let ranges: Vec<_> = all.iter().map(|value| self.signed_range(*value)).collect();
        let kept: Vec<Bv> = (0..all.len())
            .filter(|index| {
                !(0..all.len()).any(|other| {
                    other != *index
                        && if greatest {
                            ranges[*index].1 < ranges[other].0
                                || (ranges[*index].1 == ranges[other].0 && other < *index)
                        } else {
                            ranges[*index].0 > ranges[other].1
                                || (ranges[*index].0 == ranges[other].1 && other < *index)
                        }
                })
            })
            .map(|index| all[index])
            .collect();
        let all = if kept.is_empty() { all } else { kept };
        if let [only] = all[..] {
            return only;
        }
        let width = self.width(all[0]);
        let parts = all.into_boxed_slice();
        let kind = if greatest {
            Kind::Smax(parts)
        } else {
            Kind::Smin(parts)
        };
        self.make(kind, width)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! Bitwise operations, shifts and division.

use super::*;

impl Terms {
    /// For a value that is 0 or all ones: the polynomial that is 0 or 1 instead.
    pub(super) fn as_mask(&mut self, value: Bv) -> Option<Bv> {
        let width = self.width(value);
        if self.terms_of(value).is_empty() {
            return Some(value);
        }
        if !self.boolean_only(value, 4) {
            return None;
        }
        if width == 1 {
            return Some(value);
        }
        let indicators = self.indicators(value);
        for case in 0..1u32 << indicators.len() {
            let mut now = value;
            for (bit, indicator) in indicators.iter().enumerate() {
                now = self.cofactor(now, *indicator, case >> bit & 1 == 1);
            }
            match self.as_constant(now) {
                Some(0) => {}
                Some(ones) if ones == mask(width) => {}
                _ => return None,
            }
        }
        Some(self.neg(value))
    }

    /// Constants go right, other operands in order of identity.
    fn ordered(&self, a: Bv, b: Bv) -> (Bv, Bv) {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(_), None) => (b, a),
            (None, None) if a > b => (b, a),
            _ => (a, b),
        }
    }

    /// Bitwise and.
    pub fn and(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        let ones = mask(width);
        let (a, b) = self.ordered(a, b);
        if a == b {
            return a;
        }
        if let Some(y) = self.as_constant(b) {
            if let Some(x) = self.as_constant(a) {
                return self.constant(x & y, width);
            }
            return self.and_constant(a, y);
        }
        if let Some(guard) = self.as_mask(b) {
            return self.mul(guard, a);
        }
        if let Some(guard) = self.as_mask(a) {
            return self.mul(guard, b);
        }
        if self.boolean_only(a, 2) && self.boolean_only(b, 2) {
            return self.by_cases(&[a, b], width, &move |terms, v| {
                let both =
                    terms.as_constant(v[0]).unwrap_or(0) & terms.as_constant(v[1]).unwrap_or(0);
                terms.constant(both & ones, width)
            });
        }
        self.make(Kind::And(a, b), width)
    }

    fn and_constant(&mut self, a: Bv, y: u64) -> Bv {
        let width = self.width(a);
        let ones = mask(width);
        if y == ones {
            return a;
        }
        if y == 0 {
            return self.constant(0, width);
        }
        if let Some(guard) = self.as_mask(a) {
            return self.scale(guard, y);
        }
        if self.boolean_only(a, 3) {
            return self.by_cases(&[a], width, &move |terms, v| {
                let bits = terms.as_constant(v[0]).unwrap_or(0);
                terms.constant(bits & y, width)
            });
        }
        if let Some(Kind::And(inner, constant)) = self.single_kind(a).cloned()
            && let Some(constant) = self.as_constant(constant)
        {
            return self.and_constant(inner, constant & y);
        }
        let mut a = a;
        if y & (y + 1) == 0 {
            // the low bits only: coefficients count modulo the mask
            let modulus = y + 1;
            let reduced: Vec<_> = self
                .terms_of(a)
                .iter()
                .map(|(mono, factor)| (*mono, factor % modulus))
                .filter(|(_, factor)| *factor != 0)
                .collect();
            a = self.poly(width, reduced);
            if self.as_constant(a).is_some() {
                return a;
            }
            let (low, high) = self.range(a);
            if low >= 0 && high <= i128::from(y) && high < 1i128 << (width - 1) {
                return a;
            }
        }
        // bits that are zero anyway may be kept or cleared, as it suits
        let (mut kept, mut cut) = (y, y);
        let (low, high) = self.range(a);
        if low >= 0 && high < 1i128 << (width - 1) {
            let used = 128 - (high.max(1) as u128).leading_zeros();
            if used < 64 {
                kept |= ones & !((1u64 << used) - 1);
                cut &= (1u64 << used) - 1;
            }
            if kept == ones {
                return a;
            }
        }
        let cleared = !kept & ones;
        if cleared & (cleared + 1) == 0 && kept != 0 {
            let low_bits = self.and_constant(a, cleared);
            return self.sub(a, low_bits);
        }
        // the same bits of a wider value have one form
        if let Some(Kind::Extract(wide, 0)) = self.single_kind(a).cloned()
            && cut < 1 << (width - 1)
        {
            let wide = self.and_constant(wide, cut);
            return match self.as_constant(wide) {
                Some(constant) => self.constant(constant, width),
                None => self.make(Kind::Extract(wide, 0), width),
            };
        }
        let y = self.constant(cut, width);
        self.make(Kind::And(a, y), width)
    }

    /// Trailing bits of the polynomial that are zero by its coefficients.
    fn trailing_zeros(&self, value: Bv) -> u32 {
        self.terms_of(value)
            .iter()
            .map(|(_, factor)| factor.trailing_zeros())
            .min()
            .unwrap_or(64)
    }

    /// Whether no bit can be set in both.
    fn disjoint_bits(&mut self, a: Bv, b: Bv) -> bool {
        for (high, low) in [(a, b), (b, a)] {
            let zeros = self.trailing_zeros(high);
            let (least, most) = self.range(low);
            let width = self.width(low);
            if zeros > 0 && least >= 0 && most < 1i128 << zeros.min(u32::from(width) - 1) {
                return true;
            }
        }
        // guarded by conditions that exclude each other
        let width = self.width(a);
        for (p, q) in [(a, b), (b, a)] {
            for indicator in self.indicators(p) {
                let in_all = |terms: &Self, value: Bv| {
                    terms
                        .terms_of(value)
                        .iter()
                        .all(|(mono, _)| terms.factors(*mono).contains(&indicator))
                };
                if in_all(self, p) {
                    let mono = self.mono(vec![indicator]);
                    let guard = self.poly(width, vec![(mono, 1)]);
                    let product = self.mul(guard, q);
                    if self.terms_of(product).is_empty() {
                        return true;
                    }
                }
                if in_all(self, q) {
                    let rest = self.cofactor(p, indicator, true);
                    if self.terms_of(rest).is_empty() {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Bitwise or.
    pub fn or(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        let (a, b) = self.ordered(a, b);
        if a == b {
            return a;
        }
        let y = self.as_constant(b);
        match (self.as_constant(a), y) {
            (Some(x), Some(y)) => return self.constant(x | y, width),
            (_, Some(0)) => return a,
            (_, Some(ones)) if ones == mask(width) => return b,
            _ => {}
        }
        if self.disjoint_bits(a, b) {
            return self.add(a, b);
        }
        if let (Some(m), Some(n)) = (self.as_mask(a), self.as_mask(b)) {
            let both = self.mul(m, n);
            let sum = self.add(m, n);
            let either = self.sub(sum, both);
            return if width == 1 { either } else { self.neg(either) };
        }
        if let Some(m) = self.as_mask(b) {
            // -1 where the mask is set, else a
            let minus_one = self.integer(-1, width);
            let difference = self.sub(minus_one, a);
            let part = self.mul(m, difference);
            return self.add(a, part);
        }
        self.make(Kind::Or(a, b), width)
    }

    /// Bitwise exclusive or.
    pub fn xor(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        let (a, b) = self.ordered(a, b);
        if a == b {
            return self.constant(0, width);
        }
        let y = self.as_constant(b);
        match (self.as_constant(a), y) {
            (Some(x), Some(y)) => return self.constant(x ^ y, width),
            (_, Some(0)) => return a,
            (_, Some(ones)) if ones == mask(width) => {
                let minus_one = self.integer(-1, width);
                return self.sub(minus_one, a);
            }
            _ => {}
        }
        for (p, q) in [(a, b), (b, a)] {
            if width > 1
                && let Some(m) = self.as_mask(p)
            {
                // where the mask is set: -1 - q
                let minus_one = self.integer(-1, width);
                let flipped = self.linear(&[(1, minus_one), (u64::MAX - 1, q)], width);
                let part = self.mul(m, flipped);
                return self.add(q, part);
            }
        }
        if self.boolean_only(a, 3) && (y.is_some() || self.boolean_only(b, 3)) {
            return self.by_cases(&[a, b], width, &|terms, v| {
                let bits =
                    terms.as_constant(v[0]).unwrap_or(0) ^ terms.as_constant(v[1]).unwrap_or(0);
                terms.constant(bits, width)
            });
        }
        if self.disjoint_bits(a, b) {
            return self.add(a, b);
        }
        if let (Some(y), Some(Kind::Xor(inner, constant))) = (y, self.single_kind(a).cloned())
            && let Some(constant) = self.as_constant(constant)
        {
            let constant = self.constant(constant ^ y, width);
            return self.xor(inner, constant);
        }
        self.make(Kind::Xor(a, b), width)
    }

    /// Left shift; amounts of the width or more give 0.
    pub fn shl(&mut self, a: Bv, by: Bv) -> Bv {
        let width = self.width(a);
        match self.as_constant(by) {
            Some(by) if by >= u64::from(width) => self.constant(0, width),
            Some(by) => self.scale(a, 1 << by),
            None => self.make(Kind::Shl(a, by), width),
        }
    }

    /// The polynomial as `2^by · high + low` with `low` in `0 .. 2^by`: then `high`.
    fn divided(&mut self, value: Bv, by: u64) -> Option<Bv> {
        if !self.fits(value) {
            return None;
        }
        let width = self.width(value);
        let step = 1i64.checked_shl(by as u32).filter(|step| *step > 0)?;
        let terms = self.terms_of(value).to_vec();
        let (mut high, mut low) = (Vec::new(), Vec::new());
        for (mono, factor) in terms {
            let factor = signed(factor, width);
            if factor % step == 0 {
                high.push((mono, factor.div_euclid(step) as u64 & mask(width)));
            } else if mono == ONE {
                let quotient = factor.div_euclid(step) as u64 & mask(width);
                if quotient != 0 {
                    high.push((mono, quotient));
                }
                low.push((mono, factor.rem_euclid(step) as u64));
            } else {
                low.push((mono, factor as u64 & mask(width)));
            }
        }
        high.sort_unstable_by_key(|(mono, _)| *mono);
        let low = self.poly(width, low);
        let (least, most) = self.range(low);
        (least >= 0 && most < i128::from(step)).then(|| self.poly(width, high))
    }

    /// Logical right shift; amounts of the width or more give 0.
    pub fn lshr(&mut self, a: Bv, by: Bv) -> Bv {
        let width = self.width(a);
        let Some(amount) = self.as_constant(by) else {
            return self.make(Kind::Lshr(a, by), width);
        };
        if amount == 0 {
            return a;
        }
        if amount >= u64::from(width) {
            return self.constant(0, width);
        }
        if let Some(x) = self.as_constant(a) {
            return self.constant(x >> amount, width);
        }
        if self.boolean_only(a, 3) {
            return self.by_cases(&[a], width, &|terms, v| terms.lshr(v[0], by));
        }
        if amount == u64::from(width) - 1 {
            let sign = self.sign_of(a, width);
            return self.neg(sign);
        }
        if self.range(a).0 >= 0
            && let Some(high) = self.divided(a, amount)
        {
            return high;
        }
        match self.single_kind(a).cloned() {
            Some(Kind::Lshr(of, inner)) => {
                if let Some(inner) = self.as_constant(inner) {
                    let total = self.constant((amount + inner).min(64), width);
                    return self.lshr(of, total);
                }
            }
            Some(Kind::Zext(inner)) if amount < u64::from(self.width(inner)) => {
                let narrow = self.width(inner);
                let by = self.constant(amount, narrow);
                let shifted = self.lshr(inner, by);
                return self.zext(shifted, width);
            }
            Some(Kind::Concat(_)) => {
                let part = self.extract(a, amount as u8, width - amount as u8);
                return self.zext(part, width);
            }
            _ => {}
        }
        self.make(Kind::Lshr(a, by), width)
    }

    /// Arithmetic right shift; amounts of the width or more give the sign.
    pub fn ashr(&mut self, a: Bv, by: Bv) -> Bv {
        let width = self.width(a);
        let Some(amount) = self.as_constant(by) else {
            return self.make(Kind::Ashr(a, by), width);
        };
        if amount == 0 {
            return a;
        }
        if let Some(x) = self.as_constant(a) {
            return self.integer(signed(x, width) >> amount.min(63), width);
        }
        if amount >= u64::from(width) - 1 {
            return self.sign_of(a, width);
        }
        if self.boolean_only(a, 3) {
            return self.by_cases(&[a], width, &|terms, v| terms.ashr(v[0], by));
        }
        if let Some(high) = self.divided(a, amount) {
            return high;
        }
        if self.fits(a) && self.range(a).0 >= 0 {
            return self.lshr(a, by);
        }
        if let Some(Kind::Sext(inner)) = self.single_kind(a).cloned()
            && amount < u64::from(self.width(inner))
        {
            let narrow = self.width(inner);
            let by = self.constant(amount, narrow);
            let shifted = self.ashr(inner, by);
            return self.sext(shifted, width);
        }
        self.make(Kind::Ashr(a, by), width)
    }

    /// Unsigned division (by zero: all ones, as SMT-LIB has it; callers exclude that case).
    pub fn udiv(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(x), Some(y)) if y != 0 => return self.constant(x / y, width),
            (_, Some(y)) if y.is_power_of_two() => {
                let by = self.constant(u64::from(y.trailing_zeros()), width);
                return self.lshr(a, by);
            }
            _ => {}
        }
        self.make(Kind::Udiv(a, b), width)
    }

    /// Unsigned remainder.
    pub fn urem(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(x), Some(y)) if y != 0 => return self.constant(x % y, width),
            (_, Some(y)) if y.is_power_of_two() => {
                let low = self.constant(y - 1, width);
                return self.and(a, low);
            }
            _ => {}
        }
        self.make(Kind::Urem(a, b), width)
    }

    /// Signed division, rounding to zero.
    pub fn sdiv(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.as_integer(a), self.as_integer(b))
            && y != 0
        {
            return self.integer(x.wrapping_div(y), width);
        }
        if self.signed_range(a).0 >= 0 && self.signed_range(b).0 > 0 {
            return self.udiv(a, b);
        }
        if let Some(y) = self.as_integer(b)
            && y > 1
            && (y as u64).is_power_of_two()
        {
            // (a + (a < 0 ? y - 1 : 0)) >> log2 y
            let sign = self.sign_of(a, width);
            let bias = self.constant(y as u64 - 1, width);
            let bias = self.and(sign, bias);
            let biased = self.add(a, bias);
            let by = self.constant(u64::from((y as u64).trailing_zeros()), width);
            return self.ashr(biased, by);
        }
        self.make(Kind::Sdiv(a, b), width)
    }

    /// Signed remainder.
    pub fn srem(&mut self, a: Bv, b: Bv) -> Bv {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.as_integer(a), self.as_integer(b))
            && y != 0
        {
            return self.integer(x.wrapping_rem(y), width);
        }
        if self.signed_range(a).0 >= 0 && self.signed_range(b).0 > 0 {
            return self.urem(a, b);
        }
        let quotient = self.sdiv(a, b);
        let product = self.mul(quotient, b);
        self.sub(a, product)
    }
}

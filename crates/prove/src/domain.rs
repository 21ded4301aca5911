//! One set of operations, two kinds of values: terms, and plain numbers.
//!
//! The semantics of x86-64 and of LLVM IR are written once, over a [`Domain`]. Over [`Terms`] they build the
//! proof; over [`Concrete`] they are an interpreter, which produces the traces from which invariants are guessed
//! and which the tests compare with the real processor. What is proved with is what was tested.

use crate::term::{Bool, Bv, FALSE, TRUE, Terms, mask, signed};

/// Operations on bit-vectors. Every method names the width its operands have.
pub trait Domain {
    /// A bit-vector of at most 64 bits.
    type V: Copy + Eq + std::fmt::Debug;
    /// A truth value.
    type B: Copy + Eq + std::fmt::Debug;

    /// A number.
    fn number(&mut self, value: u64, w: u8) -> Self::V;
    /// The number, where it is known.
    fn known(&self, a: Self::V) -> Option<u64>;
    /// The truth, where it is known.
    fn known_truth(&self, a: Self::B) -> Option<bool>;
    /// Sum.
    fn add(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Difference.
    fn sub(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Product.
    fn mul(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Bitwise and.
    fn and(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Bitwise or.
    fn or(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Bitwise exclusive or.
    fn xor(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Left shift; amounts of the width or more give 0.
    fn shl(&mut self, a: Self::V, by: Self::V, w: u8) -> Self::V;
    /// Logical right shift; amounts of the width or more give 0.
    fn lshr(&mut self, a: Self::V, by: Self::V, w: u8) -> Self::V;
    /// Arithmetic right shift; amounts of the width or more give the sign.
    fn ashr(&mut self, a: Self::V, by: Self::V, w: u8) -> Self::V;
    /// Unsigned quotient; the divisor is not zero.
    fn udiv(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Unsigned remainder; the divisor is not zero.
    fn urem(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Signed quotient; no overflow, the divisor is not zero.
    fn sdiv(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Signed remainder; no overflow, the divisor is not zero.
    fn srem(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Sign extension.
    fn sext(&mut self, a: Self::V, from: u8, to: u8) -> Self::V;
    /// Zero extension.
    fn zext(&mut self, a: Self::V, from: u8, to: u8) -> Self::V;
    /// The bits `low .. low + w` of a value of width `from`.
    fn extract(&mut self, a: Self::V, from: u8, low: u8, w: u8) -> Self::V;
    /// Two halves side by side: (low, its width), (high, its width).
    fn concat(&mut self, low: (Self::V, u8), high: (Self::V, u8)) -> Self::V;
    /// Equality.
    fn eq(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::B;
    /// Signed less than.
    fn slt(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::B;
    /// Unsigned less than.
    fn ult(&mut self, a: Self::V, b: Self::V, w: u8) -> Self::B;
    /// A truth value.
    fn truth(&mut self, value: bool) -> Self::B;
    /// Negation.
    fn not(&mut self, a: Self::B) -> Self::B;
    /// Conjunction.
    fn both(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// Disjunction.
    fn either(&mut self, a: Self::B, b: Self::B) -> Self::B;
    /// Choice.
    fn ite(&mut self, c: Self::B, a: Self::V, b: Self::V, w: u8) -> Self::V;
    /// Choice between truth values.
    fn choose(&mut self, c: Self::B, a: Self::B, b: Self::B) -> Self::B {
        let yes = self.both(c, a);
        let negated = self.not(c);
        let no = self.both(negated, b);
        self.either(yes, no)
    }
    /// The sum of a source operation that must not wrap (signed): the domain may remember that.
    fn no_wrap(&mut self, op: Arithmetic, a: Self::V, b: Self::V, result: Self::V, w: u8);
    /// A condition without which the behaviour is undefined (source) or a trap (machine). Over terms:
    /// the source's are assumed, the machine's are to be proved.
    fn require(&mut self, side: Side, condition: Self::B);
}

/// Operations whose wrapping the source may exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
}

/// Which program is being executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The source program.
    Source,
    /// The machine program.
    Machine,
}

/// Plain numbers.
#[derive(Debug, Default)]
pub struct Concrete {
    /// A condition that was required does not hold, by the side that required it.
    pub violated: Option<Side>,
}

impl Domain for Concrete {
    type V = u64;
    type B = bool;

    fn number(&mut self, value: u64, w: u8) -> u64 {
        value & mask(w)
    }
    fn known(&self, a: u64) -> Option<u64> {
        Some(a)
    }
    fn known_truth(&self, a: bool) -> Option<bool> {
        Some(a)
    }
    fn add(&mut self, a: u64, b: u64, w: u8) -> u64 {
        a.wrapping_add(b) & mask(w)
    }
    fn sub(&mut self, a: u64, b: u64, w: u8) -> u64 {
        a.wrapping_sub(b) & mask(w)
    }
    fn mul(&mut self, a: u64, b: u64, w: u8) -> u64 {
        a.wrapping_mul(b) & mask(w)
    }
    fn and(&mut self, a: u64, b: u64, _: u8) -> u64 {
        a & b
    }
    fn or(&mut self, a: u64, b: u64, _: u8) -> u64 {
        a | b
    }
    fn xor(&mut self, a: u64, b: u64, _: u8) -> u64 {
        a ^ b
    }
    fn shl(&mut self, a: u64, by: u64, w: u8) -> u64 {
        if by < u64::from(w) {
            a << by & mask(w)
        } else {
            0
        }
    }
    fn lshr(&mut self, a: u64, by: u64, w: u8) -> u64 {
        if by < u64::from(w) { a >> by } else { 0 }
    }
    fn ashr(&mut self, a: u64, by: u64, w: u8) -> u64 {
        (signed(a, w) >> by.min(u64::from(w) - 1)) as u64 & mask(w)
    }
    fn udiv(&mut self, a: u64, b: u64, w: u8) -> u64 {
        a.checked_div(b).unwrap_or(mask(w))
    }
    fn urem(&mut self, a: u64, b: u64, _: u8) -> u64 {
        a.checked_rem(b).unwrap_or(a)
    }
    fn sdiv(&mut self, a: u64, b: u64, w: u8) -> u64 {
        let (x, y) = (signed(a, w), signed(b, w));
        match y {
            0 if x < 0 => 1,
            0 => mask(w),
            _ => x.wrapping_div(y) as u64 & mask(w),
        }
    }
    fn srem(&mut self, a: u64, b: u64, w: u8) -> u64 {
        let (x, y) = (signed(a, w), signed(b, w));
        match y {
            0 => a,
            _ => x.wrapping_rem(y) as u64 & mask(w),
        }
    }
    fn sext(&mut self, a: u64, from: u8, to: u8) -> u64 {
        signed(a, from) as u64 & mask(to)
    }
    fn zext(&mut self, a: u64, _: u8, _: u8) -> u64 {
        a
    }
    fn extract(&mut self, a: u64, _: u8, low: u8, w: u8) -> u64 {
        a >> low & mask(w)
    }
    fn concat(&mut self, low: (u64, u8), high: (u64, u8)) -> u64 {
        low.0 | high.0 << low.1
    }
    fn eq(&mut self, a: u64, b: u64, _: u8) -> bool {
        a == b
    }
    fn slt(&mut self, a: u64, b: u64, w: u8) -> bool {
        signed(a, w) < signed(b, w)
    }
    fn ult(&mut self, a: u64, b: u64, _: u8) -> bool {
        a < b
    }
    fn truth(&mut self, value: bool) -> bool {
        value
    }
    fn not(&mut self, a: bool) -> bool {
        !a
    }
    fn both(&mut self, a: bool, b: bool) -> bool {
        a && b
    }
    fn either(&mut self, a: bool, b: bool) -> bool {
        a || b
    }
    fn ite(&mut self, c: bool, a: u64, b: u64, _: u8) -> u64 {
        if c { a } else { b }
    }
    fn no_wrap(&mut self, op: Arithmetic, a: u64, b: u64, _: u64, w: u8) {
        let (x, y) = (i128::from(signed(a, w)), i128::from(signed(b, w)));
        let exact = match op {
            Arithmetic::Add => x + y,
            Arithmetic::Sub => x - y,
            Arithmetic::Mul => x * y,
        };
        let half = 1i128 << (w - 1);
        if exact < -half || exact >= half {
            self.violated.get_or_insert(Side::Source);
        }
    }
    fn require(&mut self, side: Side, condition: bool) {
        if !condition {
            self.violated.get_or_insert(side);
        }
    }
}

impl Domain for Terms {
    type V = Bv;
    type B = Bool;

    fn number(&mut self, value: u64, w: u8) -> Bv {
        self.constant(value, w)
    }
    fn known(&self, a: Bv) -> Option<u64> {
        self.as_constant(a)
    }
    fn known_truth(&self, a: Bool) -> Option<bool> {
        match a {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }
    fn add(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::add(self, a, b)
    }
    fn sub(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::sub(self, a, b)
    }
    fn mul(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::mul(self, a, b)
    }
    fn and(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::and(self, a, b)
    }
    fn or(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::or(self, a, b)
    }
    fn xor(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::xor(self, a, b)
    }
    fn shl(&mut self, a: Bv, by: Bv, _: u8) -> Bv {
        Terms::shl(self, a, by)
    }
    fn lshr(&mut self, a: Bv, by: Bv, _: u8) -> Bv {
        Terms::lshr(self, a, by)
    }
    fn ashr(&mut self, a: Bv, by: Bv, _: u8) -> Bv {
        Terms::ashr(self, a, by)
    }
    fn udiv(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::udiv(self, a, b)
    }
    fn urem(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::urem(self, a, b)
    }
    fn sdiv(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::sdiv(self, a, b)
    }
    fn srem(&mut self, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::srem(self, a, b)
    }
    fn sext(&mut self, a: Bv, _: u8, to: u8) -> Bv {
        Terms::sext(self, a, to)
    }
    fn zext(&mut self, a: Bv, _: u8, to: u8) -> Bv {
        Terms::zext(self, a, to)
    }
    fn extract(&mut self, a: Bv, _: u8, low: u8, w: u8) -> Bv {
        Terms::extract(self, a, low, w)
    }
    fn concat(&mut self, low: (Bv, u8), high: (Bv, u8)) -> Bv {
        Terms::concat(self, &[low.0, high.0])
    }
    fn eq(&mut self, a: Bv, b: Bv, _: u8) -> Bool {
        Terms::eq(self, a, b)
    }
    fn slt(&mut self, a: Bv, b: Bv, _: u8) -> Bool {
        Terms::slt(self, a, b)
    }
    fn ult(&mut self, a: Bv, b: Bv, _: u8) -> Bool {
        Terms::ult(self, a, b)
    }
    fn truth(&mut self, value: bool) -> Bool {
        if value { TRUE } else { FALSE }
    }
    fn not(&mut self, a: Bool) -> Bool {
        Terms::not(self, a)
    }
    fn both(&mut self, a: Bool, b: Bool) -> Bool {
        self.and_all(&[a, b])
    }
    fn either(&mut self, a: Bool, b: Bool) -> Bool {
        self.or_all(&[a, b])
    }
    fn ite(&mut self, c: Bool, a: Bv, b: Bv, _: u8) -> Bv {
        Terms::ite(self, c, a, b)
    }
    fn no_wrap(&mut self, op: Arithmetic, a: Bv, b: Bv, result: Bv, w: u8) {
        if w != 32 || self.fits(result) {
            return;
        }
        let (a, b) = (Terms::sext(self, a, 64), Terms::sext(self, b, 64));
        let wide = match op {
            Arithmetic::Add => Terms::add(self, a, b),
            Arithmetic::Sub => Terms::sub(self, a, b),
            Arithmetic::Mul => Terms::mul(self, a, b),
        };
        self.note_wide(result, wide);
    }
    fn require(&mut self, side: Side, condition: Bool) {
        match side {
            Side::Source => self.assume(condition),
            Side::Machine => self.oblige(condition),
        }
    }
}

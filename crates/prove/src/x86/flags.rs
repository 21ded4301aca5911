//! Condition codes, kept as what they came from until a condition is asked for.
//!
//! *Why:* `cmp a, b; jl` should become the one comparison `a < b`, as the source has it, not a formula over the
//! sign and overflow bits.

use iced_x86::ConditionCode;

use crate::domain::Domain;

/// The carry flag of an addition or subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry<B> {
    /// That of the operation itself.
    Own,
    /// Left as it was (inc, dec), where that is known.
    Kept(Option<B>),
}

/// The flags, by the operation that set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags<V, B> {
    /// Not known.
    Unknown,
    /// All four, as truth values.
    Known {
        /// Carry.
        c: B,
        /// Zero.
        z: B,
        /// Sign.
        s: B,
        /// Overflow.
        o: B,
    },
    /// `a - b`.
    Sub(V, V, u8, Carry<B>),
    /// `a + b`.
    Add(V, V, u8, Carry<B>),
    /// The result of a bitwise operation: carry and overflow are clear.
    Logic(V, u8),
    /// Zero and sign of this result; carry and overflow unknown.
    Result(V, u8),
    /// Zero and carry are known; sign and overflow are clear (ptest).
    Test(B, B),
    /// Only carry is known (bt).
    Carry(B),
    /// Only zero is known.
    Zero(B),
}

/// The conditions of which all others are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    E,
    L,
    Le,
    B,
    Be,
    S,
    O,
}

impl<V: Copy, B: Copy> Flags<V, B> {
    /// Whether a condition holds; `None` where the flags do not tell.
    pub fn condition<D>(&self, d: &mut D, code: ConditionCode) -> Option<B>
    where
        D: Domain<V = V, B = B>,
    {
        let (basic, negated) = match code {
            ConditionCode::e => (Basic::E, false),
            ConditionCode::ne => (Basic::E, true),
            ConditionCode::l => (Basic::L, false),
            ConditionCode::ge => (Basic::L, true),
            ConditionCode::le => (Basic::Le, false),
            ConditionCode::g => (Basic::Le, true),
            ConditionCode::b => (Basic::B, false),
            ConditionCode::ae => (Basic::B, true),
            ConditionCode::be => (Basic::Be, false),
            ConditionCode::a => (Basic::Be, true),
            ConditionCode::s => (Basic::S, false),
            ConditionCode::ns => (Basic::S, true),
            ConditionCode::o => (Basic::O, false),
            ConditionCode::no => (Basic::O, true),
            _ => return None,
        };
        let holds = self.basic(d, basic)?;
        Some(if negated { d.not(holds) } else { holds })
    }

    /// The carry flag.
    pub fn carry<D>(&self, d: &mut D) -> Option<B>
    where
        D: Domain<V = V, B = B>,
    {
        self.basic(d, Basic::B)
    }

    fn basic<D>(&self, d: &mut D, what: Basic) -> Option<B>
    where
        D: Domain<V = V, B = B>,
    {
        match *self {
            Flags::Unknown => None,
            Flags::Known { c, z, s, o } => Some(match what {
                Basic::E => z,
                Basic::B => c,
                Basic::S => s,
                Basic::O => o,
                Basic::L => differ(d, s, o),
                Basic::Le => {
                    let less = differ(d, s, o);
                    d.either(z, less)
                }
                Basic::Be => d.either(c, z),
            }),
            Flags::Sub(a, b, w, carry) => {
                let zero = d.number(0, w);
                Some(match (what, carry) {
                    (Basic::E, _) => d.eq(a, b, w),
                    (Basic::L, _) => d.slt(a, b, w),
                    (Basic::Le, _) => {
                        let greater = d.slt(b, a, w);
                        d.not(greater)
                    }
                    (Basic::B, Carry::Own) => d.ult(a, b, w),
                    (Basic::Be, Carry::Own) => {
                        let greater = d.ult(b, a, w);
                        d.not(greater)
                    }
                    (Basic::B, Carry::Kept(kept)) => kept?,
                    (Basic::Be, Carry::Kept(kept)) => {
                        let equal = d.eq(a, b, w);
                        d.either(kept?, equal)
                    }
                    (Basic::S, _) => {
                        let difference = d.sub(a, b, w);
                        d.slt(difference, zero, w)
                    }
                    (Basic::O, _) => {
                        let difference = d.sub(a, b, w);
                        let sign = d.slt(difference, zero, w);
                        let less = d.slt(a, b, w);
                        differ(d, sign, less)
                    }
                })
            }
            Flags::Add(a, b, w, carry) => {
                let zero = d.number(0, w);
                let sum = d.add(a, b, w);
                let own = |d: &mut D| d.ult(sum, a, w);
                Some(match (what, carry) {
                    (Basic::E, _) => d.eq(sum, zero, w),
                    (Basic::S, _) => d.slt(sum, zero, w),
                    (Basic::O, _) => overflow(d, a, b, sum, w),
                    (Basic::L, _) => {
                        let over = overflow(d, a, b, sum, w);
                        let sign = d.slt(sum, zero, w);
                        differ(d, sign, over)
                    }
                    (Basic::Le, _) => {
                        let over = overflow(d, a, b, sum, w);
                        let sign = d.slt(sum, zero, w);
                        let less = differ(d, sign, over);
                        let equal = d.eq(sum, zero, w);
                        d.either(less, equal)
                    }
                    (Basic::B, Carry::Own) => own(d),
                    (Basic::B, Carry::Kept(kept)) => kept?,
                    (Basic::Be, _) => {
                        let carry = match carry {
                            Carry::Own => own(d),
                            Carry::Kept(kept) => kept?,
                        };
                        let equal = d.eq(sum, zero, w);
                        d.either(carry, equal)
                    }
                })
            }
            Flags::Logic(r, w) => {
                let zero = d.number(0, w);
                Some(match what {
                    Basic::E | Basic::Be => d.eq(r, zero, w),
                    Basic::L | Basic::S => d.slt(r, zero, w),
                    Basic::Le => {
                        let greater = d.slt(zero, r, w);
                        d.not(greater)
                    }
                    Basic::B | Basic::O => d.truth(false),
                })
            }
            Flags::Result(r, w) => {
                let zero = d.number(0, w);
                match what {
                    Basic::E => Some(d.eq(r, zero, w)),
                    Basic::S => Some(d.slt(r, zero, w)),
                    _ => None,
                }
            }
            Flags::Test(z, c) => Some(match what {
                Basic::E | Basic::Le => z,
                Basic::B => c,
                Basic::Be => d.either(z, c),
                Basic::L | Basic::S | Basic::O => d.truth(false),
            }),
            Flags::Carry(c) => (what == Basic::B).then_some(c),
            Flags::Zero(z) => (what == Basic::E).then_some(z),
        }
    }
}

fn differ<D: Domain>(d: &mut D, a: D::B, b: D::B) -> D::B {
    let not_b = d.not(b);
    d.choose(a, not_b, b)
}

fn overflow<D: Domain>(d: &mut D, a: D::V, b: D::V, sum: D::V, w: u8) -> D::B {
    let zero = d.number(0, w);
    let sa = d.slt(a, zero, w);
    let sb = d.slt(b, zero, w);
    let ss = d.slt(sum, zero, w);
    let (na, nb, ns) = (d.not(sa), d.not(sb), d.not(ss));
    let both_negative = d.both(sa, sb);
    let down = d.both(both_negative, ns);
    let both_positive = d.both(na, nb);
    let up = d.both(both_positive, ss);
    d.either(down, up)
}

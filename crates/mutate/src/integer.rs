//! C's integer semantics, exactly: promotions, usual arithmetic conversions, conversion on assignment, and which
//! operations are undefined.
//!
//! Speculative execution (paper 004 §4.3.2, *Spex*) stands and falls with this file: one wrong conversion and a
//! "false" predicate holds. Values are `i128`, which holds every value of every 64-bit type and every result
//! before it wraps. Types are a width and a sign: two C types that agree in both behave alike (`long` and
//! `long long` on LP64). Implementation-defined steps follow gcc and clang: two's complement wrap on conversion to
//! signed, arithmetic right shift.

use candor_source::{IntegerKind, IntegerType};

/// The type of a value in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arithmetic {
    /// Width in bits; of a bit-field, its own.
    pub bits: u32,
    /// Whether it has negative values.
    pub is_signed: bool,
}

impl Arithmetic {
    /// `int`
    pub const INT: Self = Self {
        bits: 32,
        is_signed: true,
    };

    /// A signed type of `bits` bits.
    #[must_use]
    pub const fn signed(bits: u32) -> Self {
        Self {
            bits,
            is_signed: true,
        }
    }

    /// An unsigned type of `bits` bits.
    #[must_use]
    pub const fn unsigned(bits: u32) -> Self {
        Self {
            bits,
            is_signed: false,
        }
    }

    /// The smallest value.
    #[must_use]
    pub fn min(self) -> i128 {
        if self.is_signed {
            -(1 << (self.bits - 1))
        } else {
            0
        }
    }

    /// The largest value.
    #[must_use]
    pub fn max(self) -> i128 {
        if self.is_signed {
            (1 << (self.bits - 1)) - 1
        } else {
            (1 << self.bits) - 1
        }
    }

    /// Whether `value` is one of its values.
    #[must_use]
    pub fn holds(self, value: i128) -> bool {
        (self.min()..=self.max()).contains(&value)
    }

    /// C 6.3.1.3: `value` converted to this type.
    #[must_use]
    pub fn convert(self, value: i128) -> i128 {
        let low = value & ((1 << self.bits) - 1);
        if self.is_signed && low >> (self.bits - 1) != 0 {
            low - (1 << self.bits)
        } else {
            low
        }
    }

    /// C 6.3.1.1: the integer promotions. Every type narrower than `int` fits into it.
    #[must_use]
    pub fn promote(self) -> Self {
        if self.bits < 32 { Self::INT } else { self }
    }

    /// C 6.3.1.8: the usual arithmetic conversions.
    #[must_use]
    pub fn usual(self, other: Self) -> Self {
        let (a, b) = (self.promote(), other.promote());
        match a.bits.cmp(&b.bits) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal => Self {
                bits: a.bits,
                is_signed: a.is_signed && b.is_signed,
            },
        }
    }
}

/// The type of an object: what reading it gives and what assigning to it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scalar {
    /// The declared type, enumerations replaced by what represents them.
    pub kind: IntegerKind,
    /// Width of the declared type.
    pub declared_bits: u32,
    /// The sign of the declared type.
    pub is_signed: bool,
    /// Width when it is a bit-field.
    pub bit_field: Option<u32>,
}

impl Scalar {
    /// The scalar of a declared integer type; `None` for those beyond 64 bits, which are not computed with.
    #[must_use]
    pub fn new(integer: IntegerType, bit_field: Option<u32>) -> Option<Self> {
        if !(1..=64).contains(&integer.bits) || bit_field == Some(0) {
            return None;
        }
        Some(Self {
            kind: integer.kind,
            declared_bits: integer.bits,
            is_signed: integer.is_signed,
            bit_field,
        })
    }

    /// A plain object of the declared type: what a backup variable is.
    #[must_use]
    pub fn declared(self) -> Self {
        Self {
            bit_field: None,
            ..self
        }
    }

    /// gcc computes in the width of a bit-field wider than `int`, clang in the declared type: only a cast makes
    /// them agree.
    #[must_use]
    pub fn needs_cast(self) -> bool {
        self.bit_field.is_some_and(|width| width > 32)
    }

    /// The type of the expression that reads it (the cast of [`Scalar::needs_cast`] included).
    #[must_use]
    pub fn read(self) -> Arithmetic {
        let bits = match (self.kind, self.bit_field) {
            (IntegerKind::Bool, _) => 8,
            (_, Some(width)) if width <= 32 => width,
            _ => self.declared_bits,
        };
        Arithmetic {
            bits,
            is_signed: self.is_signed && self.kind != IntegerKind::Bool,
        }
    }

    /// What the object holds after `value` was assigned to it.
    #[must_use]
    pub fn store(self, value: i128) -> i128 {
        if self.kind == IntegerKind::Bool {
            return i128::from(value != 0);
        }
        let kept = Arithmetic {
            bits: self.bit_field.unwrap_or(self.declared_bits),
            is_signed: self.is_signed,
        };
        kept.convert(value)
    }

    /// The value behind the 64 bits a probe reports.
    #[must_use]
    pub fn from_raw(self, raw: u64) -> i128 {
        if self.is_signed {
            i128::from(raw.cast_signed())
        } else {
            i128::from(raw)
        }
    }
}

/// `!` `~` `-`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unary {
    Not,
    Complement,
    Negate,
}

impl Unary {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Not, Self::Complement, Self::Negate];

    /// How C spells it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Complement => "~",
            Self::Negate => "-",
        }
    }

    /// The type of the result.
    #[must_use]
    pub fn result(self, operand: Arithmetic) -> Arithmetic {
        match self {
            Self::Not => Arithmetic::INT,
            Self::Complement | Self::Negate => operand.promote(),
        }
    }

    /// The result for one value; `None` when it is undefined.
    #[must_use]
    pub fn apply(self, operand: Arithmetic, value: i128) -> Option<i128> {
        let result = self.result(operand);
        match self {
            Self::Not => Some(i128::from(value == 0)),
            Self::Complement => Some(result.convert(!value)),
            Self::Negate => settle(result, -value),
        }
    }
}

/// The binary operators of paper 004, Figure 5, with the shifts and the logical ones: eighteen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    LessEqual,
    Less,
    LogicalAnd,
    LogicalOr,
}

impl Binary {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Remainder,
        Self::ShiftLeft,
        Self::ShiftRight,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Greater,
        Self::GreaterEqual,
        Self::Equal,
        Self::NotEqual,
        Self::LessEqual,
        Self::Less,
        Self::LogicalAnd,
        Self::LogicalOr,
    ];

    /// The comparisons.
    pub const RELATIONAL: [Self; 6] = [
        Self::Greater,
        Self::GreaterEqual,
        Self::Equal,
        Self::NotEqual,
        Self::LessEqual,
        Self::Less,
    ];

    /// How C spells it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::LessEqual => "<=",
            Self::Less => "<",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
        }
    }

    fn is_relational(self) -> bool {
        Self::RELATIONAL.contains(&self)
    }

    /// The type of the result.
    #[must_use]
    pub fn result(self, left: Arithmetic, right: Arithmetic) -> Arithmetic {
        match self {
            Self::LogicalAnd | Self::LogicalOr => Arithmetic::INT,
            Self::ShiftLeft | Self::ShiftRight => left.promote(),
            _ if self.is_relational() => Arithmetic::INT,
            _ => left.usual(right),
        }
    }

    /// The result for one pair of values, each of its operand's type; `None` when it is undefined. Both operands of
    /// `&&` and `||` count as evaluated: an undefined right operand must not hide behind the left one.
    #[must_use]
    pub fn apply(
        self,
        (left, a): (Arithmetic, i128),
        (right, b): (Arithmetic, i128),
    ) -> Option<i128> {
        match self {
            Self::LogicalAnd => return Some(i128::from(a != 0 && b != 0)),
            Self::LogicalOr => return Some(i128::from(a != 0 || b != 0)),
            Self::ShiftLeft | Self::ShiftRight => return self.shift(left.promote(), a, b),
            _ => {}
        }
        let common = left.usual(right);
        let (a, b) = (common.convert(a), common.convert(b));
        let exact = match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            // Two unsigned 64-bit values can exceed i128; their product modulo 2^64 is what is wanted.
            Self::Multiply if common.is_signed => a * b,
            Self::Multiply => a.wrapping_mul(b),
            Self::Divide | Self::Remainder => {
                if b == 0 || !common.holds(a / b) {
                    return None;
                }
                if self == Self::Divide { a / b } else { a % b }
            }
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Greater => return Some(i128::from(a > b)),
            Self::GreaterEqual => return Some(i128::from(a >= b)),
            Self::Equal => return Some(i128::from(a == b)),
            Self::NotEqual => return Some(i128::from(a != b)),
            Self::LessEqual => return Some(i128::from(a <= b)),
            Self::Less => return Some(i128::from(a < b)),
            Self::ShiftLeft | Self::ShiftRight | Self::LogicalAnd | Self::LogicalOr => return None,
        };
        settle(common, exact)
    }

    /// C 6.5.7; the width that counts is the promoted left operand's.
    fn shift(self, left: Arithmetic, a: i128, by: i128) -> Option<i128> {
        if by < 0 || by >= i128::from(left.bits) {
            return None;
        }
        if self == Self::ShiftRight {
            return Some(a >> by);
        }
        if left.is_signed && a < 0 {
            return None;
        }
        // a < 2^64 and by < 64: the product is below 2^127 for signed types (a < 2^63) and may wrap at 2^128 for
        // unsigned ones, whose low 64 bits are all that is kept.
        settle(left, a.wrapping_shl(u32::try_from(by).ok()?))
    }
}

/// Signed overflow is undefined, unsigned results wrap.
fn settle(result: Arithmetic, exact: i128) -> Option<i128> {
    if result.is_signed {
        result.holds(exact).then_some(exact)
    } else {
        Some(result.convert(exact))
    }
}

/// A constant as C source, with the type C gives it. Negative ones and those without a literal of their own are
/// spelled as parenthesised expressions, so that `-` in front of one is not `--`.
#[must_use]
pub fn literal(value: i128) -> (String, Arithmetic) {
    let int = Arithmetic::INT;
    let long = Arithmetic::signed(64);
    let parenthesised = |text: String| {
        if value < 0 { format!("({text})") } else { text }
    };
    if value == int.min() {
        ("(-2147483647 - 1)".into(), int)
    } else if value == long.min() {
        ("(-9223372036854775807LL - 1)".into(), long)
    } else if int.holds(value) {
        (parenthesised(value.to_string()), int)
    } else if Arithmetic::unsigned(32).holds(value) {
        (format!("{value}U"), Arithmetic::unsigned(32))
    } else if long.holds(value) {
        (parenthesised(format!("{value}LL")), long)
    } else {
        let wrapped = Arithmetic::unsigned(64).convert(value);
        (format!("{wrapped}ULL"), Arithmetic::unsigned(64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UCHAR: Arithmetic = Arithmetic::unsigned(8);
    const UINT: Arithmetic = Arithmetic::unsigned(32);
    const LONG: Arithmetic = Arithmetic::signed(64);
    const ULONG: Arithmetic = Arithmetic::unsigned(64);

    #[test]
    fn the_papers_example_of_section_4_5() {
        // int a = 0; short b = -1; a + b == -1, but with unsigned a it is 4294967295.
        let short = Arithmetic::signed(16);
        assert_eq!(
            Binary::Add.apply((Arithmetic::INT, 0), (short, -1)),
            Some(-1)
        );
        assert_eq!(
            Binary::Add.apply((UINT, 0), (short, -1)),
            Some(4_294_967_295)
        );
    }

    #[test]
    fn undefined_operations_are_refused() {
        let int = Arithmetic::INT;
        let max = i128::from(i32::MAX);
        let min = i128::from(i32::MIN);
        assert_eq!(Binary::Add.apply((int, max), (int, 1)), None);
        assert_eq!(Binary::Divide.apply((int, min), (int, -1)), None);
        assert_eq!(Binary::Remainder.apply((int, min), (int, -1)), None);
        assert_eq!(Binary::Divide.apply((int, 1), (int, 0)), None);
        assert_eq!(Binary::ShiftLeft.apply((int, 1), (int, 31)), None);
        assert_eq!(Binary::ShiftLeft.apply((int, -1), (int, 0)), None);
        assert_eq!(Binary::ShiftLeft.apply((UCHAR, 255), (int, 32)), None);
        assert_eq!(Binary::ShiftRight.apply((LONG, -8), (int, 1)), Some(-4));
        assert_eq!(Unary::Negate.apply(int, min), None);
        assert_eq!(Unary::Negate.apply(UINT, 1), Some(4_294_967_295));
    }

    #[test]
    fn the_largest_unsigned_operands_wrap() {
        let max = i128::from(u64::MAX);
        assert_eq!(Binary::Multiply.apply((ULONG, max), (ULONG, max)), Some(1));
        assert_eq!(
            Binary::ShiftLeft.apply((ULONG, max), (Arithmetic::INT, 63)),
            Some(1 << 63)
        );
    }

    #[test]
    fn literals_have_their_value_and_no_double_minus() {
        for value in [
            0,
            -1,
            i128::from(i32::MIN),
            i128::from(i64::MIN),
            1 << 31,
            1 << 63,
        ] {
            let (text, ty) = literal(value);
            assert!(ty.holds(value), "{text}");
            assert!(value >= 0 || text.starts_with('('), "{text}");
        }
    }
}

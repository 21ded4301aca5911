//! Values on the stack of a DWARF expression and the arithmetic on them (DWARF 5, section 2.5.1.4).
//!
//! A value has the generic type (an integer as wide as an address, of no sign of its own) or a base type. The standard
//! wants both operands of an operation to be of one type, shifts included: mixing them is ill-formed, which is how
//! "DW_OP_convert to a 2-byte type, then DW_OP_and with a generic constant" of clang 19 is found (LLVM issues 62118 and
//! 102294). Where the standard is silent (sign of a generic value, shifts of the other sign) this follows gdb.

use std::borrow::Cow;
use std::fmt;

/// Why an expression gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    OptimisedOut,
    IllFormed(Cow<'static, str>),
    Unreadable(Cow<'static, str>),
}

impl Fault {
    pub(crate) fn ill_formed(why: impl Into<Cow<'static, str>>) -> Fault {
        Fault::IllFormed(why.into())
    }

    pub(crate) fn unreadable(why: impl Into<Cow<'static, str>>) -> Fault {
        Fault::Unreadable(why.into())
    }
}

/// The type of a value on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Generic,
    Integer { bytes: u8, signed: bool },
    Float { bytes: u8 },
}

impl Type {
    pub(crate) const fn bytes(self) -> u8 {
        match self {
            Type::Generic => 8,
            Type::Integer { bytes, .. } | Type::Float { bytes } => bytes,
        }
    }

    const fn mask(self) -> u128 {
        let bits = self.bytes() as u32 * 8;
        if bits >= 128 {
            u128::MAX
        } else {
            (1 << bits) - 1
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Generic => f.write_str("generic"),
            Type::Integer {
                bytes,
                signed: true,
            } => write!(f, "signed {bytes}-byte"),
            Type::Integer {
                bytes,
                signed: false,
            } => write!(f, "unsigned {bytes}-byte"),
            Type::Float { bytes } => write!(f, "{bytes}-byte floating-point"),
        }
    }
}

/// A value on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StackValue {
    pub(crate) ty: Type,
    /// No bit beyond the type's width is set.
    pub(crate) bits: u128,
}

/// An operation on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Abs,
    Neg,
    Not,
}

/// An operation on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    And,
    Or,
    Xor,
    Plus,
    Minus,
    Mul,
    Div,
    Mod,
    Shl,
    Shr,
    Shra,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl StackValue {
    pub(crate) const fn generic(value: u64) -> StackValue {
        StackValue {
            ty: Type::Generic,
            bits: value as u128,
        }
    }

    pub(crate) const fn new(ty: Type, bits: u128) -> StackValue {
        StackValue {
            ty,
            bits: bits & ty.mask(),
        }
    }

    /// The integer that the bits mean, read with a sign if `signed`.
    const fn integer(self, signed: bool) -> i128 {
        let unused = 128 - self.ty.bytes() as u32 * 8;
        if signed {
            ((self.bits << unused) as i128) >> unused
        } else {
            self.bits as i128
        }
    }

    const fn is_signed(self) -> bool {
        matches!(self.ty, Type::Generic | Type::Integer { signed: true, .. })
    }

    /// The integer that the value is; an error for floating-point values.
    pub(crate) fn integral(self, operation: &'static str) -> Result<i128, Fault> {
        match self.ty {
            Type::Float { .. } => Err(Fault::ill_formed(format!(
                "{operation}: expected an integer on the stack, met a {} value",
                self.ty
            ))),
            _ => Ok(self.integer(self.is_signed())),
        }
    }

    /// The value as an address.
    pub(crate) fn address(self, operation: &'static str) -> Result<u64, Fault> {
        self.integral(operation).map(|value| value as u64)
    }

    fn float(self) -> Result<f64, Fault> {
        match self.ty {
            Type::Float { bytes: 4 } => Ok(f64::from(f32::from_bits(self.bits as u32))),
            Type::Float { bytes: 8 } => Ok(f64::from_bits(self.bits as u64)),
            _ => Err(Fault::unreadable(format!(
                "arithmetic on a {} value is not supported",
                self.ty
            ))),
        }
    }

    fn from_float(ty: Type, value: f64) -> Result<StackValue, Fault> {
        match ty {
            Type::Float { bytes: 4 } => {
                Ok(StackValue::new(ty, u128::from((value as f32).to_bits())))
            }
            Type::Float { bytes: 8 } => Ok(StackValue::new(ty, u128::from(value.to_bits()))),
            Type::Float { .. } => Err(Fault::unreadable(format!(
                "arithmetic on a {ty} value is not supported"
            ))),
            Type::Integer { signed: false, .. } => Ok(StackValue::new(ty, value as u128)),
            Type::Generic | Type::Integer { .. } => Ok(StackValue::new(ty, value as i128 as u128)),
        }
    }

    /// `DW_OP_convert`.
    pub(crate) fn convert(self, ty: Type) -> Result<StackValue, Fault> {
        match (self.ty, ty) {
            (from, to) if from == to => Ok(self),
            (Type::Float { .. }, _) => StackValue::from_float(ty, self.float()?),
            (Type::Integer { signed: false, .. }, Type::Float { .. }) => {
                StackValue::from_float(ty, self.bits as f64)
            }
            (_, Type::Float { .. }) => {
                StackValue::from_float(ty, self.integer(self.is_signed()) as f64)
            }
            _ => Ok(StackValue::new(ty, self.integer(self.is_signed()) as u128)),
        }
    }

    /// `DW_OP_reinterpret`.
    pub(crate) fn reinterpret(self, ty: Type) -> Result<StackValue, Fault> {
        if self.ty.bytes() != ty.bytes() {
            return Err(Fault::ill_formed(format!(
                "DW_OP_reinterpret: {} to {ty}, which have different sizes",
                self.ty
            )));
        }
        Ok(StackValue::new(ty, self.bits))
    }

    pub(crate) fn unary(self, operation: Unary) -> Result<StackValue, Fault> {
        if let (Type::Float { .. }, Unary::Abs | Unary::Neg) = (self.ty, operation) {
            let value = self.float()?;
            return StackValue::from_float(
                self.ty,
                if operation == Unary::Neg {
                    -value
                } else {
                    value.abs()
                },
            );
        }
        let value = self.integral(operation.name())?;
        let result = match operation {
            Unary::Abs => value.wrapping_abs(),
            Unary::Neg => value.wrapping_neg(),
            Unary::Not => !value,
        };
        Ok(StackValue::new(self.ty, result as u128))
    }

    pub(crate) fn binary(self, operation: Binary, right: StackValue) -> Result<StackValue, Fault> {
        use Binary::{
            And, Div, Eq, Ge, Gt, Le, Lt, Minus, Mod, Mul, Ne, Or, Plus, Shl, Shr, Shra, Xor,
        };
        let name = operation.name();
        if self.ty != right.ty {
            return Err(Fault::ill_formed(format!(
                "{name}: operands of different types, {} and {}",
                self.ty, right.ty
            )));
        }
        let truth = |value: bool| Ok(StackValue::generic(u64::from(value)));
        if let Type::Float { .. } = self.ty {
            let (a, b) = (self.float()?, right.float()?);
            return match operation {
                Plus => StackValue::from_float(self.ty, a + b),
                Minus => StackValue::from_float(self.ty, a - b),
                Mul => StackValue::from_float(self.ty, a * b),
                Div => StackValue::from_float(self.ty, a / b),
                Eq => truth(a == b),
                Ne => truth(a != b),
                Lt => truth(a < b),
                Le => truth(a <= b),
                Gt => truth(a > b),
                Ge => truth(a >= b),
                _ => Err(Fault::ill_formed(format!(
                    "{name}: expected integers on the stack, met {} values",
                    self.ty
                ))),
            };
        }
        // The remainder of generic values is unsigned, all else of them signed (gdb, gimli).
        let signed = self.is_signed() && !(operation == Mod && self.ty == Type::Generic);
        let (a, b) = (self.integer(signed), right.integer(signed));
        let (ua, ub) = (self.bits, right.bits);
        if matches!(operation, Div | Mod) && ub == 0 {
            return Err(Fault::unreadable(format!("{name}: division by zero")));
        }
        let order = if signed { a.cmp(&b) } else { ua.cmp(&ub) };
        let result = match operation {
            And => ua & ub,
            Or => ua | ub,
            Xor => ua ^ ub,
            Plus => ua.wrapping_add(ub),
            Minus => ua.wrapping_sub(ub),
            Mul => ua.wrapping_mul(ub),
            Div if signed => a.wrapping_div(b) as u128,
            Div => ua / ub,
            Mod if signed => a.wrapping_rem(b) as u128,
            Mod => ua % ub,
            Eq => return truth(order.is_eq()),
            Ne => return truth(order.is_ne()),
            Lt => return truth(order.is_lt()),
            Le => return truth(order.is_le()),
            Gt => return truth(order.is_gt()),
            Ge => return truth(order.is_ge()),
            Shl | Shr | Shra => return self.shift(operation, right),
        };
        Ok(StackValue::new(self.ty, result))
    }

    fn shift(self, operation: Binary, count: StackValue) -> Result<StackValue, Fault> {
        let name = operation.name();
        self.integral(name)?;
        let width = u32::from(self.ty.bytes()) * 8;
        let by = u32::try_from(count.bits).unwrap_or(u32::MAX).min(width);
        let result = match operation {
            Binary::Shl => self.bits.checked_shl(by).unwrap_or(0),
            Binary::Shra => (self.integer(true) >> by.min(127)) as u128,
            _ => self.bits.checked_shr(by).unwrap_or(0),
        };
        Ok(StackValue::new(self.ty, result))
    }
}

impl Unary {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Unary::Abs => "DW_OP_abs",
            Unary::Neg => "DW_OP_neg",
            Unary::Not => "DW_OP_not",
        }
    }
}

impl Binary {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Binary::And => "DW_OP_and",
            Binary::Or => "DW_OP_or",
            Binary::Xor => "DW_OP_xor",
            Binary::Plus => "DW_OP_plus",
            Binary::Minus => "DW_OP_minus",
            Binary::Mul => "DW_OP_mul",
            Binary::Div => "DW_OP_div",
            Binary::Mod => "DW_OP_mod",
            Binary::Shl => "DW_OP_shl",
            Binary::Shr => "DW_OP_shr",
            Binary::Shra => "DW_OP_shra",
            Binary::Eq => "DW_OP_eq",
            Binary::Ne => "DW_OP_ne",
            Binary::Lt => "DW_OP_lt",
            Binary::Le => "DW_OP_le",
            Binary::Gt => "DW_OP_gt",
            Binary::Ge => "DW_OP_ge",
        }
    }
}

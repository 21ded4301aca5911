//! C types, as far as a mutator or an oracle has to know them: what an object is made of, which parts must
//! not be read or written, and the integer rules of each scalar.
//!
//! Qualifiers are kept at every level, because "volatile somewhere inside" decides whether code may touch
//! an object at all (see *What inserted code must leave alone* in the design of `mutate`).

use std::sync::Arc;

/// A C type, typedefs resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// As the user wrote it (`const uint8_t`, `struct S0 [3]`).
    pub spelling: String,
    /// Qualifiers of the outermost level; those of typedefs are included, those of elements, fields and
    /// pointees are theirs. The type of an array element carries what qualifies the array.
    pub qualifiers: Qualifiers,
    /// Size in bytes; `None` for incomplete and variably sized types.
    pub size: Option<u64>,
    /// Named by a typedef, or made of a record or enumeration, that a system header (or the compiler
    /// itself, as for `va_list`) declares.
    pub system: bool,
    /// What it is.
    pub shape: Shape,
}

/// `const`, `volatile`, `restrict` and `_Atomic`, as on one level of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Qualifiers {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `restrict`
    pub is_restrict: bool,
    /// `_Atomic`
    pub is_atomic: bool,
}

/// The structure of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// `void`
    Void,
    /// `_Bool`, the character and integer types, and enumerations.
    Integer(IntegerType),
    /// `float`, `double`, `long double`, `_Float16`, ...
    Floating {
        /// Size in bits of the object, padding included.
        bits: u32,
    },
    /// A pointer; what it points to is only sketched, so that recursive records end.
    Pointer(Pointee),
    /// An array, of whatever length.
    Array {
        /// Type of an element.
        element: Arc<Type>,
        /// How many there are.
        length: ArrayLength,
    },
    /// `struct` or `union`
    Record(Arc<Record>),
    /// A function (only behind a pointer, or as the type of no object).
    Function,
    /// `_Complex`, vectors, `_BitInt`, and what this crate does not model.
    Other,
}

/// What a pointer points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointee {
    /// As clang spells it.
    pub spelling: String,
    /// Qualifiers of the object pointed to.
    pub qualifiers: Qualifiers,
    /// A function pointer.
    pub is_function: bool,
}

/// The length of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayLength {
    /// Known to the compiler.
    Constant(u64),
    /// A variable length array.
    Variable,
    /// `int a[];`, or a flexible array member.
    Unknown,
}

/// Which integer type, after enumerations are replaced by the type that represents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum IntegerKind {
    Bool,
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Int128,
    UnsignedInt128,
}

impl IntegerKind {
    /// How C spells it.
    #[must_use]
    pub fn c_name(self) -> &'static str {
        match self {
            Self::Bool => "_Bool",
            Self::Char => "char",
            Self::SignedChar => "signed char",
            Self::UnsignedChar => "unsigned char",
            Self::Short => "short",
            Self::UnsignedShort => "unsigned short",
            Self::Int => "int",
            Self::UnsignedInt => "unsigned int",
            Self::Long => "long",
            Self::UnsignedLong => "unsigned long",
            Self::LongLong => "long long",
            Self::UnsignedLongLong => "unsigned long long",
            Self::Int128 => "__int128",
            Self::UnsignedInt128 => "unsigned __int128",
        }
    }
}

/// An integer type on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegerType {
    /// Which one.
    pub kind: IntegerKind,
    /// Width of the object in bits (8 for `_Bool`, whose values are 0 and 1).
    pub bits: u32,
    /// Whether it has negative values.
    pub is_signed: bool,
    /// It is an enumeration, represented by `kind`.
    pub is_enum: bool,
}

/// A `struct` or `union`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The tag; `None` when there is none.
    pub name: Option<String>,
    /// `union`
    pub is_union: bool,
    /// Carries `packed`.
    pub is_packed: bool,
    /// Declared in a system header, or by the compiler itself.
    pub system: bool,
    /// In declaration order, unnamed bit-fields and anonymous members included.
    pub fields: Vec<Field>,
}

/// A member of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// `None` for unnamed bit-fields (padding) and for anonymous members.
    pub name: Option<String>,
    /// Its type; of an anonymous member, the record whose members are reached through the outer one.
    pub ty: Arc<Type>,
    /// Offset from the start of the record, in bits.
    pub offset_bits: Option<u64>,
    /// Width when it is a bit-field.
    pub bit_width: Option<u32>,
    /// An anonymous struct or union: its fields are named as if they were the outer record's.
    pub is_anonymous_record: bool,
}

impl Type {
    /// Calls `see` on this type and every type an object of it contains (elements, fields; not pointees).
    /// Stops and returns true when `see` does.
    pub fn any(&self, see: &mut dyn FnMut(&Type) -> bool) -> bool {
        if see(self) {
            return true;
        }
        match &self.shape {
            Shape::Array { element, .. } => element.any(see),
            Shape::Record(record) => record.fields.iter().any(|field| field.ty.any(see)),
            _ => false,
        }
    }

    /// Volatile at any level.
    #[must_use]
    pub fn has_volatile(&self) -> bool {
        self.any(&mut |t| t.qualifiers.is_volatile)
    }

    /// Const at any level: assigning to the whole object, or to some part of it, is an error.
    #[must_use]
    pub fn has_const(&self) -> bool {
        self.any(&mut |t| t.qualifiers.is_const)
    }

    /// Holds a restrict-qualified pointer at any level.
    #[must_use]
    pub fn has_restrict(&self) -> bool {
        self.any(&mut |t| t.qualifiers.is_restrict)
    }

    /// Atomic at any level.
    #[must_use]
    pub fn has_atomic(&self) -> bool {
        self.any(&mut |t| t.qualifiers.is_atomic)
    }

    /// Is or contains a union.
    #[must_use]
    pub fn has_union(&self) -> bool {
        self.any(&mut |t| matches!(&t.shape, Shape::Record(record) if record.is_union))
    }

    /// Is or contains an object whose making is the system's business: `va_list`, `jmp_buf`, `FILE`, every
    /// record of a system header. A typedef of plain arithmetic (`uint8_t`, `time_t`) is not.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.any(&mut |t| {
            let arithmetic = matches!(t.shape, Shape::Integer(_) | Shape::Floating { .. });
            (t.system && !arithmetic) || matches!(&t.shape, Shape::Record(record) if record.system)
        })
    }

    /// The integer rules of a scalar object.
    #[must_use]
    pub fn integer(&self) -> Option<IntegerType> {
        match self.shape {
            Shape::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// A variable length array at any level.
    #[must_use]
    pub fn is_variably_sized(&self) -> bool {
        self.any(&mut |t| {
            matches!(
                t.shape,
                Shape::Array {
                    length: ArrayLength::Variable,
                    ..
                }
            )
        })
    }
}

//! From libclang's types to [`Type`].
//!
//! Qualifiers are taken from the canonical type, because only it has those of every typedef on the way; names
//! and system headers are taken from the type as written. Clang puts the qualifiers of an array on the
//! array, C puts them on its elements: here they are on both.

// libclang's constants keep libclang's names.
#![allow(non_upper_case_globals)]

use std::collections::HashMap;
use std::sync::Arc;

use clang_sys::*;

use crate::api::{Cursor, Tu};
use crate::types::*;

/// Deeper than any program nests records by value; keeps a made-up one from exhausting the stack.
const MAX_DEPTH: u32 = 256;

/// Identity of a type inside its translation unit, as `clang_equalTypes` compares.
type Key = (usize, usize);

/// Reads types, each once.
pub struct TypeReader<'tu> {
    tu: &'tu Tu<'tu>,
    types: HashMap<Key, Arc<Type>>,
    records: HashMap<Key, Arc<Record>>,
}

fn key(ty: CXType) -> Key {
    (ty.data[0] as usize, ty.data[1] as usize)
}

impl<'tu> TypeReader<'tu> {
    pub fn new(tu: &'tu Tu<'tu>) -> Self {
        Self {
            tu,
            types: HashMap::new(),
            records: HashMap::new(),
        }
    }

    /// The type of an object.
    pub fn read(&mut self, ty: CXType) -> Arc<Type> {
        self.read_at(ty, 0)
    }

    /// The type of a parameter: libclang gives it as written, C makes arrays and functions pointers.
    pub fn read_parameter(&mut self, ty: CXType) -> Arc<Type> {
        let declared = self.read(ty);
        let pointee = match &declared.shape {
            Shape::Array { element, .. } => Pointee {
                spelling: element.spelling.clone(),
                qualifiers: element.qualifiers,
                is_function: false,
            },
            Shape::Function => Pointee {
                spelling: declared.spelling.clone(),
                qualifiers: Qualifiers::default(),
                is_function: true,
            },
            _ => return declared,
        };
        Arc::new(Type {
            spelling: declared.spelling.clone(),
            // Those between the brackets, `int a[restrict 3]`, libclang does not tell; what it gives as the
            // array's are the elements'.
            qualifiers: Qualifiers::default(),
            size: Some(std::mem::size_of::<usize>() as u64),
            system: declared.system,
            shape: Shape::Pointer(pointee),
        })
    }

    fn read_at(&mut self, ty: CXType, depth: u32) -> Arc<Type> {
        if let Some(known) = self.types.get(&key(ty)) {
            return Arc::clone(known);
        }
        let built = Arc::new(self.build(ty, depth));
        self.types.insert(key(ty), Arc::clone(&built));
        built
    }

    fn build(&mut self, ty: CXType, depth: u32) -> Type {
        let tu = self.tu;
        let (bare, mut system) = self.peel(ty);
        let mut qualifiers = self.qualifiers(ty);
        let size = u64::try_from(tu.size_of(ty)).ok();
        let bits = size
            .and_then(|size| u32::try_from(size * 8).ok())
            .unwrap_or(0);
        let shape = match bare.kind {
            _ if depth > MAX_DEPTH => Shape::Other,
            CXType_Void => Shape::Void,
            CXType_Enum => {
                let declaration = tu.declaration(bare);
                system |= self.is_system(declaration);
                let represented = tu.canonical(tu.enum_integer(declaration));
                integer(represented.kind, bits, true).map_or(Shape::Other, Shape::Integer)
            }
            CXType_Float | CXType_Double | CXType_LongDouble | CXType_Float128 | CXType_Half
            | CXType_Float16 | CXType_BFloat16 | CXType_Ibm128 => Shape::Floating { bits },
            CXType_Pointer | CXType_BlockPointer => {
                let pointee = tu.pointee(bare);
                let kind = tu.canonical(pointee).kind;
                Shape::Pointer(Pointee {
                    spelling: tu.type_spelling(pointee),
                    qualifiers: self.qualifiers(pointee),
                    is_function: matches!(kind, CXType_FunctionProto | CXType_FunctionNoProto),
                })
            }
            CXType_ConstantArray | CXType_IncompleteArray | CXType_VariableArray => {
                let element = self.read_at(tu.element(bare), depth + 1);
                Shape::Array {
                    element: qualify(&element, qualifiers),
                    length: match bare.kind {
                        CXType_ConstantArray => u64::try_from(tu.length(bare))
                            .map_or(ArrayLength::Unknown, ArrayLength::Constant),
                        CXType_VariableArray => ArrayLength::Variable,
                        _ => ArrayLength::Unknown,
                    },
                }
            }
            CXType_Record => {
                let record = self.record(bare, depth);
                system |= record.system;
                Shape::Record(record)
            }
            CXType_FunctionProto | CXType_FunctionNoProto => Shape::Function,
            CXType_Atomic => {
                let value = self.read_at(tu.atomic_value(bare), depth + 1);
                system |= value.system;
                qualifiers.is_atomic = true;
                value.shape.clone()
            }
            kind => integer(kind, bits, false).map_or(Shape::Other, Shape::Integer),
        };
        Type {
            spelling: tu.type_spelling(ty),
            qualifiers,
            size,
            system,
            shape,
        }
    }

    /// Takes typedefs and other names off, down to structure; whether one of them was a system header's.
    fn peel(&self, mut ty: CXType) -> (CXType, bool) {
        let mut system = false;
        loop {
            let next = match ty.kind {
                CXType_Elaborated => self.tu.named(ty),
                CXType_Typedef => {
                    let declaration = self.tu.declaration(ty);
                    system |= self.is_system(declaration);
                    self.tu.underlying(declaration)
                }
                CXType_Attributed => self.tu.modified(ty),
                // Parentheses, `typeof`, and what libclang has no name for.
                CXType_Unexposed | CXType_Auto => self.tu.canonical(ty),
                _ => return (ty, system),
            };
            if next.kind == CXType_Invalid || key(next) == key(ty) {
                return (self.tu.canonical(ty), system);
            }
            ty = next;
        }
    }

    fn qualifiers(&self, ty: CXType) -> Qualifiers {
        let canonical = self.tu.canonical(ty);
        Qualifiers {
            is_const: self.tu.is_const(canonical),
            is_volatile: self.tu.is_volatile(canonical),
            is_restrict: self.tu.is_restrict(canonical),
            is_atomic: canonical.kind == CXType_Atomic,
        }
    }

    /// Declared in a system header, or nowhere: by the compiler.
    fn is_system(&self, declaration: Cursor) -> bool {
        let location = self.tu.location(declaration);
        self.tu.is_in_system_header(location) || self.tu.place(location).file.is_null()
    }

    fn record(&mut self, ty: CXType, depth: u32) -> Arc<Record> {
        let tu = self.tu;
        let declaration = tu.declaration(ty);
        let identity = key(tu.canonical(tu.type_of(declaration)));
        if let Some(known) = self.records.get(&identity) {
            return Arc::clone(known);
        }
        let fields = tu
            .fields(ty)
            .into_iter()
            .map(|field| {
                let ty = self.read_at(tu.type_of(field), depth + 1);
                let name = named(tu.spelling(field));
                let bit_width = u32::try_from(tu.bit_width(field)).ok();
                Field {
                    is_anonymous_record: name.is_none() && matches!(ty.shape, Shape::Record(_)),
                    name,
                    ty,
                    offset_bits: u64::try_from(tu.field_offset(field)).ok(),
                    bit_width,
                }
            })
            .collect();
        let attributes = if tu.has_attributes(declaration) {
            tu.children(declaration)
        } else {
            Vec::new()
        };
        let record = Arc::new(Record {
            name: named(tu.spelling(declaration)),
            is_union: tu.kind(declaration) == CXCursor_UnionDecl,
            is_packed: attributes
                .into_iter()
                .any(|child| tu.kind(child) == CXCursor_PackedAttr),
            system: self.is_system(declaration),
            fields,
        });
        self.records.insert(identity, Arc::clone(&record));
        record
    }
}

/// libclang describes what has no name in words with parentheses, or not at all, depending on its version.
fn named(spelling: String) -> Option<String> {
    (!spelling.is_empty() && !spelling.contains('(')).then_some(spelling)
}

/// The type with the qualifiers of the array around it, down to the elements of arrays of arrays.
fn qualify(ty: &Arc<Type>, outer: Qualifiers) -> Arc<Type> {
    if !outer.is_const && !outer.is_volatile && !outer.is_restrict {
        return Arc::clone(ty);
    }
    let mut qualified = Type::clone(ty);
    qualified.qualifiers.is_const |= outer.is_const;
    qualified.qualifiers.is_volatile |= outer.is_volatile;
    qualified.qualifiers.is_restrict |= outer.is_restrict;
    if let Shape::Array { element, .. } = &mut qualified.shape {
        *element = qualify(element, outer);
    }
    Arc::new(qualified)
}

fn integer(kind: CXTypeKind, bits: u32, is_enum: bool) -> Option<IntegerType> {
    let (kind, is_signed) = match kind {
        CXType_Bool => (IntegerKind::Bool, false),
        CXType_Char_S => (IntegerKind::Char, true),
        CXType_Char_U => (IntegerKind::Char, false),
        CXType_SChar => (IntegerKind::SignedChar, true),
        CXType_UChar => (IntegerKind::UnsignedChar, false),
        CXType_Short => (IntegerKind::Short, true),
        CXType_UShort => (IntegerKind::UnsignedShort, false),
        CXType_Int => (IntegerKind::Int, true),
        CXType_UInt => (IntegerKind::UnsignedInt, false),
        CXType_Long => (IntegerKind::Long, true),
        CXType_ULong => (IntegerKind::UnsignedLong, false),
        CXType_LongLong => (IntegerKind::LongLong, true),
        CXType_ULongLong => (IntegerKind::UnsignedLongLong, false),
        CXType_Int128 => (IntegerKind::Int128, true),
        CXType_UInt128 => (IntegerKind::UnsignedInt128, false),
        _ => return None,
    };
    Some(IntegerType {
        kind,
        bits,
        is_signed,
        is_enum,
    })
}

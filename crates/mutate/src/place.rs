//! The integer objects a snippet can name at a point: variables, fields and elements, never through a pointer.
//!
//! Paper 004 Def. 4.1 speaks of in-scope variables of integer types, struct fields and array elements included.

use candor_source::{
    ArrayLength, Function, Point, Record, Shape, Type, Unit, Variable, VariableKind,
};

use crate::integer::Scalar;
use crate::rules::{Facts, Rule, Rules, allows_object, allows_type};

/// Levels of nesting that are followed.
const DEPTH: u32 = 4;
/// Elements taken of one array.
const ELEMENTS: usize = 2;

/// An integer object, as C text names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The lvalue: `g_3.f1[2]`.
    pub text: String,
    /// Its type.
    pub scalar: Scalar,
    /// Not const at any level.
    pub is_writable: bool,
    /// Automatic or a parameter: what compilers keep in registers.
    pub is_local: bool,
}

impl Place {
    /// The expression that reads it.
    #[must_use]
    pub fn read(&self) -> String {
        if self.scalar.needs_cast() {
            format!("(({})({}))", self.scalar.kind.c_name(), self.text)
        } else {
            self.text.clone()
        }
    }
}

/// Where places are looked for.
#[derive(Clone, Copy)]
pub struct Survey<'a> {
    /// The file.
    pub unit: &'a Unit,
    /// See [`Facts`].
    pub facts: &'a Facts,
    /// See [`Rules`].
    pub rules: Rules,
}

impl<'a> Survey<'a> {
    /// The function around a point.
    pub fn function(&self, point: &Point) -> Option<&'a Function> {
        self.unit.functions().get(point.function)
    }

    /// Variables that running code at `point` may name, innermost first.
    pub fn objects(&self, point: &Point) -> Vec<&'a Variable> {
        let Some(function) = self.function(point) else {
            return Vec::new();
        };
        let mut visible = self.unit.visible_at(point);
        visible.retain(|v| allows_object(self.unit, self.facts, function, v, self.rules));
        visible
    }

    /// At most `limit` places at `point`, locals before globals, chosen by `random` among all.
    pub fn places(&self, point: &Point, limit: usize, random: &mut fastrand::Rng) -> Vec<Place> {
        let is_local = |v: &Variable| matches!(v.kind, VariableKind::Local | VariableKind::Param);
        let (mut locals, mut others): (Vec<_>, Vec<_>) =
            self.objects(point).into_iter().partition(|v| is_local(v));
        random.shuffle(&mut locals);
        random.shuffle(&mut others);
        let mut found = Vec::new();
        let mut taken_locals = 0;
        for variable in locals.into_iter().chain(others) {
            // One large struct must not crowd out everything else, nor locals all globals.
            let local = is_local(variable);
            if found.len() >= limit || local && taken_locals >= limit * 2 / 3 {
                continue;
            }
            let mut of_one = Vec::new();
            self.inside(
                &variable.name,
                &variable.ty,
                local,
                true,
                0,
                random,
                &mut of_one,
            );
            random.shuffle(&mut of_one);
            of_one.truncate((limit / 3).max(1));
            taken_locals += if local { of_one.len() } else { 0 };
            found.extend(of_one);
        }
        found.truncate(limit);
        found
    }

    #[allow(clippy::too_many_arguments)]
    fn inside(
        &self,
        text: &str,
        ty: &Type,
        is_local: bool,
        is_writable: bool,
        depth: u32,
        random: &mut fastrand::Rng,
        found: &mut Vec<Place>,
    ) {
        if depth > DEPTH || !allows_type(ty, self.rules) {
            return;
        }
        let is_writable = is_writable && !(ty.qualifiers.is_const && self.rules.keep(Rule::Const));
        match &ty.shape {
            Shape::Integer(integer) => {
                found.extend(Scalar::new(*integer, None).map(|scalar| Place {
                    text: text.to_owned(),
                    scalar,
                    is_writable,
                    is_local,
                }))
            }
            Shape::Array {
                element,
                length: ArrayLength::Constant(length @ 1..),
            } => {
                let mut indices: Vec<u64> = (0..ELEMENTS).map(|_| random.u64(0..*length)).collect();
                indices.sort_unstable();
                indices.dedup();
                for index in indices {
                    let text = format!("{text}[{index}]");
                    self.inside(
                        &text,
                        element,
                        is_local,
                        is_writable,
                        depth + 1,
                        random,
                        found,
                    );
                }
            }
            Shape::Record(record) => {
                self.fields(text, record, is_local, is_writable, depth, random, found);
            }
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn fields(
        &self,
        text: &str,
        record: &Record,
        is_local: bool,
        is_writable: bool,
        depth: u32,
        random: &mut fastrand::Rng,
        found: &mut Vec<Place>,
    ) {
        let opaque = record.system && self.rules.keep(Rule::Opaque);
        if opaque || record.is_union && self.rules.keep(Rule::Unions) {
            return;
        }
        for field in &record.fields {
            let inner = match &field.name {
                Some(name) if self.facts.is_macro(name) && self.rules.keep(Rule::Macros) => {
                    continue;
                }
                Some(name) => format!("{text}.{name}"),
                None if field.is_anonymous_record => text.to_owned(),
                None => continue,
            };
            match (field.bit_width, field.ty.integer()) {
                (Some(width), Some(integer)) if allows_type(&field.ty, self.rules) => {
                    let is_const = field.ty.qualifiers.is_const && self.rules.keep(Rule::Const);
                    found.extend(Scalar::new(integer, Some(width)).map(|scalar| Place {
                        text: inner,
                        scalar,
                        is_writable: is_writable && !is_const,
                        is_local,
                    }));
                }
                (Some(_), _) => {}
                (None, _) => {
                    self.inside(
                        &inner,
                        &field.ty,
                        is_local,
                        is_writable,
                        depth + 1,
                        random,
                        found,
                    );
                }
            }
        }
    }
}

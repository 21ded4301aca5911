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
        self.allowed(point, self.unit.visible_at(point))
    }

    /// Those of the `visible` variables that running code at `point` may name.
    pub fn allowed(&self, point: &Point, mut visible: Vec<&'a Variable>) -> Vec<&'a Variable> {
        let Some(function) = self.function(point) else {
            return Vec::new();
        };
        visible.retain(|v| allows_object(self.unit, self.facts, function, v, self.rules));
        visible
    }

    /// At most `limit` places at `point`, locals before globals, chosen by `random` among all.
    pub fn places(&self, point: &Point, limit: usize, random: &mut fastrand::Rng) -> Vec<Place> {
        self.places_in(&self.objects(point), limit, random)
    }

    /// At most `limit` places in `objects`, locals before globals, chosen by `random` among all.
    pub fn places_in(
        &self,
        objects: &[&'a Variable],
        limit: usize,
        random: &mut fastrand::Rng,
    ) -> Vec<Place> {
        let is_local = |v: &Variable| matches!(v.kind, VariableKind::Local | VariableKind::Param);
        let (mut locals, mut others): (Vec<&Variable>, Vec<&Variable>) =
            objects.iter().partition(|v| is_local(v));
        random.shuffle(&mut locals);
        random.shuffle(&mut others);
        let mut found = Vec::new();
        let mut taken_locals = 0;
        for variable in locals.into_iter().chain(others) {
            // One large struct must not crowd out everything else, nor locals all globals.
            let local = is_local(variable);
            if found.len() >= limit {
                break;
            }
            if local && taken_locals >= limit * 2 / 3 {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use candor_source::Clang;
    use std::path::Path as FilePath;

    fn parse(text: &str) -> Unit {
        let clang = Clang::find().unwrap();
        let text = format!("#include <stdarg.h>\n#include <setjmp.h>\n#include <stdio.h>\n{text}");
        clang
            .parse(FilePath::new("/nowhere/t.c"), Some(&text), &[])
            .unwrap()
    }

    /// All places in front of `HERE;`.
    fn places(unit: &Unit, rules: Rules) -> Vec<Place> {
        let facts = Facts::of(unit);
        let survey = Survey {
            unit,
            facts: &facts,
            rules,
        };
        let offset = unit.text().find("HERE;").unwrap();
        let points = &unit.points().points;
        let point = points.iter().find(|point| point.offset == offset).unwrap();
        if !crate::strategy::is_allowed(&survey, point) {
            return Vec::new();
        }
        // Elements and objects are sampled: many draws see them all.
        let mut random = fastrand::Rng::with_seed(1);
        (0..40)
            .flat_map(|_| survey.places(point, 30, &mut random))
            .collect()
    }

    /// Each rule keeps out its object, and nothing but that rule does.
    #[test]
    fn each_rule_keeps_its_object_out_and_no_other_does() {
        let cases: [(Rule, &str, &str); 16] = [
            (Rule::Unions, "union u { int a; } v;", "v.a"),
            (
                Rule::Unions,
                "struct s { int t; union { int a; }; } v;",
                "v.a",
            ),
            (Rule::Volatile, "volatile int v;", "v"),
            (
                Rule::Volatile,
                "typedef volatile int port; port v[2];",
                "v[0]",
            ),
            (Rule::Volatile, "struct s { volatile int f : 3; } v;", "v.f"),
            (
                Rule::Volatile,
                "struct s { int f; }; volatile struct s v;",
                "v.f",
            ),
            (Rule::Atomic, "_Atomic int v;", "v"),
            (Rule::Opaque, "jmp_buf v;", "v[0].__mask_was_saved"),
            (
                Rule::Opaque,
                "struct s { va_list ap; } v;",
                "v.ap[0].gp_offset",
            ),
            (
                Rule::Attributes,
                "int base; extern int v __attribute__((alias(\"base\")));",
                "v",
            ),
            (Rule::Attributes, "int v __attribute__((weak));", "v"),
            (
                Rule::Attributes,
                "int v __attribute__((section(\"mine\")));",
                "v",
            ),
            (Rule::Restrict, "int v; int *restrict other;", "v"),
            (Rule::Macros, "int v;\n#define v other\nint other;", "v"),
            (Rule::Foreign, "_Thread_local int v;", "v"),
            (Rule::Foreign, "int plain;", "opterr"),
        ];
        for (rule, declaration, name) in cases {
            let include = if name == "opterr" {
                "#include <getopt.h>\n"
            } else {
                ""
            };
            let unit = parse(&format!(
                "{include}{declaration}\nint HERE = 0;\nint main(void) {{ HERE; return 0; }}"
            ));
            let found = |rules| places(&unit, rules).iter().any(|place| place.text == name);
            assert!(
                !found(Rules::default()),
                "{rule:?} does not keep `{name}` out: {declaration}"
            );
            assert!(
                found(Rules::without(rule)),
                "another rule than {rule:?} keeps `{name}` out"
            );
        }
    }

    #[test]
    fn const_at_any_level_is_read_but_not_written() {
        let declarations = [
            ("const int v = 1;", "v"),
            ("typedef const int fixed; fixed v[2] = { 1, 2 };", "v[1]"),
            ("struct s { const int f; } v;", "v.f"),
            ("struct s { const unsigned f : 3; } v;", "v.f"),
            (
                "struct s { struct { int f[2]; } in; }; const struct s v;",
                "v.in.f[1]",
            ),
        ];
        for (declaration, name) in declarations {
            let unit = parse(&format!(
                "{declaration}\nint HERE = 0;\nint main(void) {{ HERE; return 0; }}"
            ));
            let writable = |rules| {
                let places = places(&unit, rules);
                places
                    .iter()
                    .find(|place| place.text == name)
                    .map(|place| place.is_writable)
            };
            assert_eq!(writable(Rules::default()), Some(false), "{declaration}");
            assert_eq!(
                writable(Rules::without(Rule::Const)),
                Some(true),
                "{declaration}"
            );
        }
    }

    #[test]
    fn under_restrict_only_scalars_whose_address_is_never_taken() {
        let unit = parse(
            "int HERE = 0, global;\nint f(int *restrict p, int given) { int plain = 1, taken = 2, array[2] = { 3, 4 };\n\
             p = &taken; HERE; return *p + array[0] + given + plain; }",
        );
        let names = |rules| {
            let mut names: Vec<String> = places(&unit, rules).into_iter().map(|p| p.text).collect();
            names.sort();
            names.dedup();
            names
        };
        assert_eq!(names(Rules::default()), ["given", "plain"]);
        let without = names(Rules::without(Rule::Restrict));
        for name in ["array[0]", "global", "taken"] {
            assert!(without.iter().any(|found| found == name), "{without:?}");
        }
    }

    /// Attributes that only locals can have.
    #[test]
    fn locals_with_cleanup_or_in_a_named_register_are_left_alone() {
        let declarations = [
            "int v __attribute__((cleanup(tidy))) = 1;",
            "int v __attribute__((unused)) __attribute__((__cleanup__(tidy))) = 1;",
            "register int v __asm__(\"rbx\") = 1;",
        ];
        for declaration in declarations {
            let unit = parse(&format!(
                "static void tidy(int *p) {{ *p = 0; }}\nint HERE = 0;\n\
                 int main(void) {{ int plain = 1; {declaration} HERE; return plain; }}"
            ));
            let found = |rules, name| places(&unit, rules).iter().any(|place| place.text == name);
            assert!(found(Rules::default(), "plain"), "{declaration}");
            assert!(!found(Rules::default(), "v"), "{declaration}");
            assert!(
                found(Rules::without(Rule::Attributes), "v"),
                "another rule than attributes keeps `v` out: {declaration}"
            );
        }
    }

    #[test]
    fn functions_that_return_twice_are_left_alone() {
        let callers = [
            "jmp_buf env; int HERE = 0;\nint main(void) { int v = 1; if (setjmp(env)) { v = 2; } HERE; return v; }",
            "#include <unistd.h>\nint HERE = 0;\n\
             int main(void) { int v = 1; if (vfork() == 0) { _exit(0); } HERE; return v; }",
        ];
        for text in callers {
            let unit = parse(text);
            assert!(places(&unit, Rules::default()).is_empty(), "{text}");
            assert!(
                !places(&unit, Rules::without(Rule::ReturnsTwice)).is_empty(),
                "{text}"
            );
        }
    }

    /// Kept by the source crate: a naked function has no frame, so nothing but assembler may stand in it.
    #[test]
    fn naked_functions_have_no_points() {
        let points_inside = |attribute: &str| {
            let unit = parse(&format!(
                "{attribute} int f(void) {{ __asm__(\"xor %eax, %eax\"); __asm__(\"ret\"); }}\n\
                 int main(void) {{ return f(); }}"
            ));
            let body = unit
                .functions()
                .iter()
                .find(|function| function.name == "f")
                .unwrap()
                .body
                .clone();
            let points = &unit.points().points;
            points.iter().filter(|p| body.contains(&p.offset)).count()
        };
        assert_eq!(points_inside("__attribute__((naked))"), 0);
        assert_eq!(points_inside(""), 2, "only the attribute keeps them out");
    }

    /// Kept by the source crate; variants depend on it.
    #[test]
    fn there_is_no_point_where_none_may_be() {
        let unit = parse(
            "int g;\n__attribute__((const)) int c(int a) { NO(a); return a; }\n\
             __attribute__((pure)) int p(int a) { NO(a); return a + g; }\n\
             int main(void) { __label__ out; int v = ({ int t = g; NO(t); }); switch (v) { NO(v); case 1: NO(v); v++; }\n\
             goto out; out: NO(v); return 0; }"
                .replace("NO(", "(")
                .as_str(),
        );
        let text = unit.text();
        for point in &unit.points().points {
            let rest = text.get(point.offset..).unwrap();
            for forbidden in ["(a);", "(t);", "(v);", "__label__", "case", "out:"] {
                assert!(!rest.starts_with(forbidden), "a point before `{forbidden}`");
            }
        }
        assert!(
            unit.points().points.len() >= 4,
            "the other statements have points"
        );
    }
}

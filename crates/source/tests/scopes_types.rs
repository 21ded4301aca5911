//! What is visible at a point, and of which type.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use candor_source::{
    ArrayLength, IntegerKind, Origin, Shape, Storage, Type, Unit, Variable, VariableKind,
};
use common::*;

/// The names visible at the point of each call `P(n);`, by n.
fn visible(text: &str) -> Vec<Vec<String>> {
    let unit = parse(&format!("void P(int);\n{text}"));
    let mut rows = Vec::new();
    for number in 0.. {
        let call = format!("P({number});");
        let point = unit
            .points()
            .points
            .iter()
            .find(|p| unit.text()[p.span.clone()] == call);
        let Some(point) = point else { break };
        let row = unit.visible_at(point);
        rows.push(
            row.iter()
                .map(|v| format!("{}:{}", v.name, v.line - 1))
                .collect(),
        );
    }
    rows
}

#[test]
fn scopes_and_shadows() {
    let rows = visible(
        "int g; static int x;\n\
         void f(int a, int x) {\n\
         P(0); int b = 1; static int s;\n\
         P(1); for (int i = 0, b = 2; i < 3; i++) {\n\
         P(2); int i = 9;\n\
         P(3); { int g = 1; P(4); }\n\
         }\n\
         P(5); int late;\n\
         }\n\
         int after; void h(void) { P(6); extern int g; P(7); { enum { g, c }; P(8); typedef int x; P(9); } P(10); { int a; { int a(void); P(11); } } }\n",
    );
    let expected: [&[&str]; 12] = [
        &["a:2", "x:2", "g:1"],
        &["b:3", "s:3", "a:2", "x:2", "g:1"],
        &["i:4", "b:4", "s:3", "a:2", "x:2", "g:1"],
        &["i:5", "b:4", "s:3", "a:2", "x:2", "g:1"],
        &["g:6", "i:5", "b:4", "s:3", "a:2", "x:2"],
        &["b:3", "s:3", "a:2", "x:2", "g:1"],
        &["g:1", "x:1", "after:10"],
        &["g:10", "x:1", "after:10"],
        &["x:1", "after:10"],
        &["after:10"],
        &["g:10", "x:1", "after:10"],
        &["g:10", "x:1", "after:10"],
    ];
    for (number, (row, expected)) in rows.iter().zip(expected).enumerate() {
        assert_eq!(row, expected, "at P({number})");
    }
    assert_eq!(rows.len(), expected.len());
}

#[test]
fn a_name_is_visible_in_its_own_initialiser_and_case_blocks_are_scopes() {
    let rows = visible(
        "int f(int a) { int b = ({ int c = 1; P(0); c; }); switch (a) { int z; case 1: { int q; P(1); } P(2); } return b; }\n\
         int k(a, b) int a; char *b; { P(3); return 0; }\n\
         int (*r(int a, int b))(int c, int d) { P(4); return 0; }\n",
    );
    assert_eq!(
        rows,
        [
            vec!["c:1", "b:1", "a:1"],
            vec!["q:1", "z:1", "b:1", "a:1"],
            vec!["z:1", "b:1", "a:1"],
            vec!["a:2", "b:2"],
            vec!["a:3", "b:3"]
        ]
    );
}

fn variable<'u>(unit: &'u Unit, name: &str) -> &'u Variable {
    unit.variables()
        .iter()
        .rev()
        .find(|v| v.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn kinds_storage_and_attributes() {
    let unit = parse(
        "extern int e; int d __attribute__((weak, section(\".x\"))); static __thread int t = 1;\n\
         #define HIDDEN static int hidden;\nHIDDEN\n\
         extern int al __attribute__((alias(\"d\")));\n\
         void c(int *p); int f(int p) { static int s; register int r asm(\"rbx\") = 1; auto int l; int k __attribute__((__cleanup__(c))) = 2; extern int e; return r; }\n",
    );
    let of = |name: &str| variable(&unit, name);
    assert_eq!(
        (of("d").kind, of("d").storage),
        (VariableKind::Global, Storage::None)
    );
    assert_eq!(
        (of("e").kind, of("e").storage),
        (VariableKind::Global, Storage::Extern)
    );
    assert_eq!(
        (of("s").kind, of("s").storage),
        (VariableKind::StaticLocal, Storage::Static)
    );
    assert_eq!(
        (of("r").kind, of("r").storage),
        (VariableKind::Local, Storage::Register)
    );
    assert_eq!(
        (of("l").kind, of("l").storage),
        (VariableKind::Local, Storage::Auto)
    );
    assert_eq!(
        (of("p").kind, of("p").function),
        (VariableKind::Param, Some(0))
    );
    assert!(of("t").is_thread_local && of("t").is_initialised && !of("s").is_initialised);
    assert!(!of("d").is_thread_local && !of("d").is_initialised);
    let attributes = |name: &str| {
        of(name)
            .attributes
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
    };
    assert_eq!(attributes("d"), ["section", "weak"]);
    assert_eq!(attributes("al"), ["alias"]);
    assert_eq!(attributes("r"), ["asm"]);
    assert_eq!(attributes("k"), ["cleanup"]);
    assert!(attributes("l").is_empty());
    assert_eq!(of("hidden").offset, None);
    assert_eq!(&unit.text()[of("s").offset.unwrap()..][..2], "s;");
    let globals: Vec<_> = unit.globals().iter().map(|v| v.name.as_str()).collect();
    assert_eq!(globals, ["e", "d", "t", "hidden", "al"]);
}

#[test]
fn functions_tell_what_a_mutator_must_know() {
    let unit = parse(
        "#include <setjmp.h>\n#include <unistd.h>\njmp_buf j; int twice(void) __attribute__((returns_twice));\n\
         #define TRY if (!setjmp(j))\n\
         static inline int a(int x, ...) { return x; }\n\
         int b(void) { TRY { return 1; } return 0; }\n\
         int c(char *restrict p, int n) { return *p; }\n\
         int d(int v[restrict 2]) { l: m:; return v[0]; }\n\
         int e(x) int x; { if (vfork()) return 1; return 0; }\n\
         int g(void) { return twice(); } __attribute__((noinline, cold)) int h() { typedef int *restrict R; R r = 0; return !r; }\n",
    );
    let flags: Vec<_> = unit
        .functions()
        .iter()
        .map(|f| {
            (
                f.name.as_str(),
                f.returns_twice_inside,
                f.has_restrict,
                f.is_old_style,
            )
        })
        .collect();
    assert_eq!(
        flags,
        [
            ("a", false, false, false),
            ("b", true, false, false),
            ("c", false, true, false),
            ("d", false, true, false),
            ("e", true, false, true),
            ("g", true, false, false),
            ("h", false, true, false),
        ]
    );
    let [a, .., h] = unit.functions() else {
        panic!()
    };
    assert!(
        a.is_static
            && a.is_inline
            && a.is_variadic
            && !h.is_static
            && !h.is_inline
            && !h.is_variadic
    );
    assert_eq!(unit.functions()[3].labels, ["l", "m"]);
    assert_eq!(
        h.attributes.iter().collect::<Vec<_>>(),
        ["cold", "noinline"]
    );
    assert_eq!(
        unit.variables()[unit.functions()[2].parameters[1]].name,
        "n"
    );
    assert_eq!(&unit.text()[a.body.clone()], "{ return x; }");
    assert_eq!(
        &unit.text()[a.span.clone()],
        "static inline int a(int x, ...) { return x; }"
    );
    assert!(variable(&unit, "j").ty.is_opaque());
}

fn types(text: &str) -> impl Fn(&str) -> Arc<Type> {
    let unit = parse(text);
    move |name| Arc::clone(&variable(&unit, name).ty)
}

#[test]
fn qualifiers_at_every_level() {
    let of = types(
        "typedef const int ci; typedef ci grid[2][3]; struct s { int a; volatile char b[2]; }; typedef struct s ts;\n\
         ci x; grid y; ts z; struct { ts in[2]; const long k; } w; int *const volatile p; const int *q; int n; const struct s cs;\n\
         _Atomic int at; volatile ts *vp; int plain[4]; void f(const int a[3], int (*fp)(void), int g(void), const volatile ci cv) {}\n",
    );
    let flags = |name: &str| (of(name).has_const(), of(name).has_volatile());
    assert_eq!(flags("x"), (true, false));
    assert_eq!(flags("y"), (true, false));
    assert_eq!(flags("z"), (false, true));
    assert_eq!(flags("w"), (true, true));
    assert_eq!(flags("p"), (true, true));
    assert_eq!(flags("q"), (false, false));
    assert_eq!(flags("n"), (false, false));
    assert_eq!(flags("cs"), (true, true));
    assert_eq!(flags("vp"), (false, false));
    assert_eq!(flags("plain"), (false, false));
    assert_eq!(flags("cv"), (true, true));
    assert!(of("at").has_atomic() && !of("n").has_atomic());
    assert_eq!(of("at").integer().unwrap().kind, IntegerKind::Int);
    let Shape::Array { element, length } = &of("y").shape else {
        panic!()
    };
    assert_eq!(*length, ArrayLength::Constant(2));
    let Shape::Array { element, length } = &element.shape else {
        panic!()
    };
    assert_eq!(
        (*length, element.qualifiers.is_const),
        (ArrayLength::Constant(3), true)
    );
    for (name, spelling, is_const, is_function) in [
        ("q", "const int", true, false),
        ("vp", "volatile ts", false, false),
        ("a", "const int", true, false),
        ("fp", "int (void)", false, true),
        ("g", "int (void)", false, true),
    ] {
        let ty = of(name);
        let Shape::Pointer(pointee) = &ty.shape else {
            panic!("{name}: {ty:?}")
        };
        assert_eq!(
            (
                pointee.spelling.as_str(),
                pointee.qualifiers.is_const,
                pointee.is_function
            ),
            (spelling, is_const, is_function)
        );
        assert_eq!(
            (ty.size, ty.qualifiers.is_const),
            (Some(8), false),
            "{name}"
        );
    }
}

#[test]
fn records_enums_and_scalars() {
    let of = types(
        "#include <stdint.h>\nstruct __attribute__((packed)) s { int a : 3; unsigned : 5; unsigned long long c : 40; union { int u; float v; }; struct { char in; } named; enum { A, B = -1 } e; int flex[]; } *keep; struct s x;\n\
         union { int i; char c; } u; enum big { HUGE = 1 << 30 } eb; uint8_t u8; char c; signed char sc; _Bool b; unsigned __int128 wide; long double ld; float _Complex cplx; typedef struct { struct s *next; } node; node nd; typeof(u8) same; int (paren)[2];\n\
         int inc[]; void f(int n) { int vla[n][2]; struct s *p; }\n",
    );
    let x = of("x");
    let Shape::Record(record) = &x.shape else {
        panic!()
    };
    assert!(
        record.is_packed && !record.is_union && !record.system && x.has_union() && !x.is_opaque()
    );
    assert_eq!(record.name.as_deref(), Some("s"));
    let fields: Vec<_> = record
        .fields
        .iter()
        .map(|f| {
            (
                f.name.as_deref(),
                f.bit_width,
                f.offset_bits,
                f.is_anonymous_record,
            )
        })
        .collect();
    assert_eq!(
        fields,
        [
            (Some("a"), Some(3), Some(0), false),
            (None, Some(5), Some(3), false),
            (Some("c"), Some(40), Some(8), false),
            (None, None, Some(48), true),
            (Some("named"), None, Some(80), false),
            (Some("e"), None, Some(88), false),
            (Some("flex"), None, Some(120), false),
        ]
    );
    let Shape::Record(inner) = &record.fields[3].ty.shape else {
        panic!()
    };
    assert!(inner.is_union && inner.name.is_none() && inner.fields[0].name.as_deref() == Some("u"));
    let e = record.fields[5].ty.integer().unwrap();
    assert!(e.is_enum && e.is_signed && e.kind == IntegerKind::Int);
    assert!(of("u").has_union() && !of("nd").has_union());
    for (name, kind, bits, signed) in [
        ("u8", IntegerKind::UnsignedChar, 8, false),
        ("same", IntegerKind::UnsignedChar, 8, false),
        ("c", IntegerKind::Char, 8, true),
        ("sc", IntegerKind::SignedChar, 8, true),
        ("b", IntegerKind::Bool, 8, false),
        ("wide", IntegerKind::UnsignedInt128, 128, false),
        ("eb", IntegerKind::UnsignedInt, 32, false),
    ] {
        let integer = of(name).integer().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(
            (integer.kind, integer.bits, integer.is_signed),
            (kind, bits, signed),
            "{name}"
        );
        assert!(!of(name).is_opaque(), "{name}");
    }
    assert_eq!(of("ld").shape, Shape::Floating { bits: 128 });
    assert_eq!(of("cplx").shape, Shape::Other);
    assert!(of("u8").system && !of("c").system);
    assert!(
        of("vla").is_variably_sized()
            && of("vla").size.is_none()
            && !of("paren").is_variably_sized()
    );
    assert!(matches!(
        of("paren").shape,
        Shape::Array {
            length: ArrayLength::Constant(2),
            ..
        }
    ));
    assert!(of("inc").integer().is_none());
}

#[test]
fn what_belongs_to_the_system_is_marked() {
    let unit = parse(
        "#include <stdarg.h>\n#include <stdio.h>\n#include <setjmp.h>\n#include <time.h>\n\
         FILE file; struct mine { jmp_buf j; } m; time_t t; struct tm tm; FILE *fp; va_list gl;\n\
         void f(va_list p, ...) { va_list v; __builtin_va_list w; va_start(v, p); }\n",
    );
    for (name, opaque) in [
        ("file", true),
        ("m", true),
        ("t", false),
        ("tm", true),
        ("fp", false),
        ("gl", true),
        ("v", true),
        ("w", true),
        ("p", true),
    ] {
        assert_eq!(
            variable(&unit, name).ty.is_opaque(),
            opaque,
            "{name}: {:?}",
            variable(&unit, name).ty
        );
    }
    assert_eq!(variable(&unit, "stdout").origin, Origin::System);
    assert_eq!(variable(&unit, "file").origin, Origin::Main);
}

#[test]
fn statics_that_are_only_written() {
    let read = |text: &str| {
        let unit = parse(&format!("struct s {{ int m; int a[2]; }};\n{text}"));
        let names = ["x", "y"];
        let line = |name: &str| {
            let all = unit.variables().iter();
            all.filter(|v| v.name == name).map(|v| v.debug_line).next()
        };
        names.map(|name| line(name).map(|line| unit.is_ever_read(name, line)))
    };
    let one = |text: &str| read(text)[0];
    for body in [
        "x = 1;",
        "x++; ++x; --x;",
        "x += 2; x <<= 1;",
        "(void)(x = 1);",
        "if (1) x = 1; else x = 2;",
        "for (x = 0; y < 3; x++) y++;",
        "x = 1, y = 2;",
        "y ? (x = 1) : (x = 2);",
        "y = sizeof x;",
        "switch (y) { case 1: x = 3; break; default: x++; }",
        "int z = ({ x = 1; y; });",
    ] {
        let text = format!("static int x, y; void f(void) {{ {body} }}\n");
        assert_eq!(one(&text), Some(false), "{body}");
    }
    for body in [
        "y = x;",
        "y = x = 1;",
        "y = x++;",
        "x = x + 1;",
        "int *p = &x;",
        "while (x++) { }",
        "for (; x++; ) { }",
        "if (x = 1) { }",
        "f(x);",
        "int z = ({ x = 1; });",
        "x;",
        "((int *)&x)[0] = 1;",
    ] {
        let text = format!("int f(int); static int x, y; void g(void) {{ {body} }}\n");
        assert_eq!(one(&text), Some(true), "{body}");
    }
    assert_eq!(
        one("static struct s x; void f(void) { x.m = 1; x.a[1] = 2; }\n"),
        Some(false)
    );
    assert_eq!(
        one("static struct s x; void f(int i) { x.a[i]++; }\n"),
        Some(false)
    );
    assert_eq!(
        one("static int x[3]; void f(int i) { x[i] = 1; }\n"),
        Some(false)
    );
    assert_eq!(
        one("static int *x; void f(int i) { x[i] = 1; }\n"),
        Some(true)
    );
    assert_eq!(
        one("static struct s *x; void f(void) { x->m = 1; }\n"),
        Some(true)
    );
    assert_eq!(one("static void *x = &x;\n"), Some(false));
    assert_eq!(one("static int x; static int *y = &x;\n"), Some(true));
    assert_eq!(
        one("static int x; int f(void) { return x; } static int x = 1;\n"),
        Some(true)
    );
    // what others may read, and names that mean another variable
    assert_eq!(one("int x; void f(void) { x = 1; }\n"), Some(true));
    assert_eq!(
        one("static int x; int f(int x) { return x; }\n"),
        Some(false)
    );
    assert_eq!(
        read("void f(int y) { static int x; x = y; }\n"),
        [Some(false), Some(true)]
    );
}

#[test]
fn programs_that_do_not_say_how_they_end() {
    let open = |text: &str, flags: &[&str]| try_parse(text, flags).unwrap().has_any_exit_status();
    assert!(open("void main(void) { }\n", &[]));
    assert!(!open("int main(void) { }\n", &[]));
    assert!(open("int main(void) { }\n", &["-std=c89"]));
    assert!(!open("int main(void) { return 3; }\n", &["-std=c89"]));
    assert!(!open(
        "void exit(int); int main(void) { exit(3); }\n",
        &["-ansi"]
    ));
    assert!(!open(
        "void other(void) { } int main(void) { return 0; }\n",
        &["-ansi"]
    ));
}

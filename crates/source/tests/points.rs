//! Where points are and where not: each source has an `@` where a point is expected, and nowhere else.

#![allow(clippy::unwrap_used)]

mod common;

use std::process::Command;

use candor_source::SkipReason::{self, *};
use candor_source::{ExpressionKind, StatementKind, instrument};
use common::*;

fn expect(marked: &str, skipped: &[(SkipReason, usize)], flags: &[&str]) {
    let (text, _) = unmark(marked);
    let unit = try_parse(&text, flags).unwrap();
    assert_eq!(mark(&unit), marked);
    let found: Vec<_> = unit
        .points()
        .skipped
        .iter()
        .map(|(r, n)| (*r, *n))
        .collect();
    let mut expected = skipped.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "{marked}");

    // Both compilers take the program with a barrier at every point.
    let folder = tempfile::tempdir().unwrap();
    let points: Vec<_> = unit.points().points.iter().collect();
    let barriers = instrument::barriers(&unit, &points).unwrap();
    std::fs::write(folder.path().join("t.c"), barriers).unwrap();
    std::fs::write(folder.path().join("barrier.h"), instrument::BARRIER_HEADER).unwrap();
    for compiler in ["gcc-12", "clang-19"] {
        let output = Command::new(compiler)
            .current_dir(folder.path())
            .args([
                "-w",
                "-fsyntax-only",
                "-Wno-implicit-int",
                "-include",
                "barrier.h",
            ])
            .args(flags)
            .arg("t.c")
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler}: {complaint}\n{marked}");
    }
}

#[test]
fn statements_of_blocks_are_points() {
    expect(
        "int g; int f(int a)\n{ @int b = a; @{ @b++; } @if (b) { @return 1; } else { @g = 2; }\n @for (;;) { @break; } @while (a) { @; } @do { @a--; } while (a); @f(1); @return 0; }",
        &[],
        &[],
    );
}

#[test]
fn unbraced_bodies_are_counted() {
    expect(
        "int f(int a) { @if (a) a = 1; else if (a > 2) a = 3; else { @a = 4; } @for (;;) if (a) { @a = 1; } @while (a) a--; @do a++; while (a < 3); @return a; }",
        &[(UnbracedBody, 6)],
        &[],
    );
}

#[test]
fn labels_and_cases_are_skipped_but_not_what_follows() {
    expect(
        "int f(int a) { @switch (a) { int z; case 1: case 2: a = 1; @a = 2; @break; default: { @a = 3; } @a = 4; }\n l: a = 5; @a = 6; @goto l; m: { @a = 7; } n: ; @return a; }",
        &[
            (CaseStatement, 2),
            (LabelledStatement, 3),
            (UnreachableInSwitch, 1),
        ],
        &[],
    );
    // Duff's device: a loop's body holds the cases of the switch around it.
    expect(
        "void f(char *p, char *q, int n) { @int r = (n + 3) / 4; @switch (n % 4) { case 0: do { @*p++ = *q++; case 3: *p++ = *q++; case 2: *p++ = *q++; @q++; } while (--r > 0); } }",
        &[(CaseStatement, 3)],
        &[],
    );
    expect(
        "int f(int n) { @switch (n) { n = 1; { case 1: n = 2; @n = 3; } @n = 4; } @switch (n) case 1: n = 9; @return n; }",
        &[
            (CaseStatement, 1),
            (UnreachableInSwitch, 2),
            (UnbracedBody, 1),
        ],
        &[],
    );
}

#[test]
fn macros_hide_points_but_not_the_statements_around() {
    expect(
        "#define SET(x) x = 1\n#define TWICE(s) s s\n#define BEGIN {\n#define END }\n#define ONE 1\n#define IF(c) if (c) {\n\
         int f(int a) BEGIN SET(a); @a = ONE; TWICE(a = 3;) @{ @a = 4; } @return ONE; END\n\
         int g(int a) { @IF(a) @a = 1; } @return a; }\n#define FN(n) int n(void) { int x = 1; return x; }\nFN(h)\n",
        &[(MacroExpansion, 5)],
        &[],
    );
}

#[test]
fn a_macro_that_begins_a_statement_or_is_one_has_a_point_before_its_name() {
    expect(
        "#define bool _Bool\n#define OWN __attribute__((unused)) static\n#define CHECK(x) if (!(x)) return 1\n\
         #define DO(s) do { s; } while (0)\n#define BOTH x = 1; x = 2\n#define DONE ; x = 3\n#define SAME(s) s\n#define CALL h\n\
         #define WHOLE x = 4;\n#define DEREF *p\n#define LABEL again: x = 1\n\
         int h(int);\nint f(int x) {\n  @bool ok = x;\n  @OWN int once;\n  @CHECK(ok);\n  @DO(x++);\n\
         BOTH;\n  @x = 5 DONE;\n  @SAME(x = 6);\n  SAME(x = 7; x = 8;)\n  CALL(x);\n  @WHOLE WHOLE\n\
         \x20 @int *p = &x;\n  @DEREF = 2; @DEREF += 1;\n  LABEL;\n  @if (x) { @CALL(1); }\n  @return SAME(x);\n}\n",
        &[
            (MacroExpansion, 8),
            (LabelledStatement, 1),
            (UnbracedBody, 1),
        ],
        &[],
    );
}

#[test]
fn declarations_are_points_except_in_c89() {
    let source = |at: &str| {
        format!(
            "int f(int a) {{ {at}int b = a; {at}struct s {{ int x; }} c; @c.x = b; @return c.x; }}"
        )
    };
    expect(&source("@"), &[], &[]);
    expect(&source("@"), &[], &["-ansi", "-std=gnu11"]);
    for flag in ["-std=c89", "-ansi", "-std=gnu89", "-std=iso9899:199409"] {
        expect(&source(""), &[(Declaration, 2)], &[flag]);
    }
}

#[test]
fn statement_expressions() {
    expect(
        "int f(int a) { @int b = ({ @int c = a; @c++; c; }); @if (({ @a++; a; })) { @a = 2; } @return ({ int z = ({ @a++; 1; }); }), b + /* x */ ( /* y */ { 3; }); }",
        &[(StatementExpressionEnd, 5)],
        &[],
    );
}

#[test]
fn gnu_oddities() {
    expect(
        "int f(int a) { __label__ x; @void *p = &&x; @goto *p; x: a = 1; @asm volatile (\"\" : \"+r\"(a)); @asm goto (\"\" : : : : x); @return _Generic(a, int: 1, default: 2); }",
        &[(LocalLabel, 1), (LabelledStatement, 1)],
        &[],
    );
    expect(
        "int f(a, b) int a; char b; { @int v[a]; @v[0] = b; @a ?: b; @return sizeof v; }\nmain() { @return 0; }",
        &[],
        &["-std=gnu99"],
    );
    expect(
        "int f(int a) { @switch (a) { case 1: a = 2; __attribute__((fallthrough)); case 2: a = 3; }\n#pragma unroll\nfor (;;) { @break; }\n @a++;\n#pragma GCC ivdep\n while (a) { @a--; }\n__extension__ int q = 1; @return q; }",
        // `#pragma unroll` is an attribute of the loop to clang.
        &[(CaseStatement, 2), (Attribute, 3), (Pragma, 1)],
        &[],
    );
}

#[test]
fn functions_whose_calls_may_be_merged_are_left_alone() {
    expect(
        "#define PURE __attribute__((pure))\n__attribute__((__const__)) int f(int a); int f(int a) { return a; }\nPURE int g(int a) { return a; }\n\
         __attribute__((naked)) void n(void) { __asm__(\"ret\"); }\nint h(int a) { @return a; } [[gnu::const]] int i(int a) { return a; }\n",
        &[(PureFunction, 3), (NakedFunction, 1)],
        &["-std=c2x"],
    );
}

#[test]
fn text_that_fools_simple_readers() {
    // CRLF, UTF-8, line splices, digraphs, no newline at the end, conditionals.
    expect(
        "int f(int a) { // é — ü\r\n  @a = 1; /* ö */ @a \\\r\n = 2;\r\n#if 0\r\n a = 3; }\r\n#else\r\n @a = 4;\r\n#endif\r\n @<% @a = 5; %>\r\n @ret\\\r\nurn a;\r\n}",
        &[],
        &[],
    );
    expect("", &[], &[]);
    expect("int x;", &[], &[]);
    expect("\u{feff}int f(void) { @return 0; }", &[], &[]);
    expect(
        "int f(int a) ??< @a = 1; @return a; ??>",
        &[],
        &["-std=c99"],
    );
}

#[test]
fn line_directives_move_lines_but_not_offsets() {
    let marked =
        "int f(int a) {\n#line 100 \"other.c\"\n @a = 1;\n# 7 \"/nowhere/t.c\"\n @return a;\n}\n";
    let (text, marks) = unmark(marked);
    let unit = parse(&text);
    let points = &unit.points().points;
    let offsets: Vec<usize> = points.iter().map(|p| p.offset).collect();
    assert_eq!(offsets, marks);
    let lines: Vec<_> = points
        .iter()
        .map(|p| (p.line, p.debug_line, p.debug_file.as_deref()))
        .collect();
    assert_eq!(lines, [(3, 100, Some("other.c")), (5, 7, None)]);
}

#[test]
fn included_files_are_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("body.inc"),
        "a = 1; a = 2;\nint late = a;\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("x.c"),
        "int in_x(void) { return 1; }\nint from_x;\n",
    )
    .unwrap();
    let marked =
        "#include \"x.c\"\nint f(int a) {\n#include \"body.inc\"\n@a = late; @return a; }\n";
    let (text, _) = unmark(marked);
    let unit = clang()
        .parse(&folder.path().join("main.c"), Some(&text), &[])
        .unwrap();
    assert_eq!(mark(&unit), marked);
    assert_eq!(unit.points().skipped[&IncludedFile], 4);
    assert_eq!(
        names(&unit, &unit.points().points[0]),
        ["late", "a", "from_x"]
    );
    assert_eq!(unit.functions().len(), 1);
}

#[test]
fn points_say_what_they_are() {
    use ExpressionKind::*;
    use StatementKind::*;
    let unit = parse(
        "int f(int a) { a = 1; a += 2; a++; --a; f(a); a == 1; (void)a; *&a = 3; (a) /* = */ = 4; a, a = 1; for (;;) { switch (a) { case 1:; break; } continue; } ; return a; }",
    );
    let points = &unit.points().points;
    let kinds: Vec<_> = points.iter().map(|p| p.statement).collect();
    let [set, call, other] = [Assignment, Call, Other].map(Expression);
    assert_eq!(
        kinds,
        [
            set, set, set, set, call, other, other, set, set, other, For, Switch, Break, Continue,
            Null, Return
        ]
    );
    let texts: Vec<_> = points
        .iter()
        .map(|p| &unit.text()[p.span.clone()])
        .collect();
    assert_eq!(texts[..5], ["a = 1;", "a += 2;", "a++;", "--a;", "f(a);"]);
    assert_eq!(texts[8], "(a) /* = */ = 4;");
    assert!(texts[10].starts_with("for (") && texts[10].ends_with("continue; }"));
    assert_eq!(texts[13..], ["continue;", ";", "return a;"]);
    let depths: Vec<_> = points[10..14]
        .iter()
        .map(|p| (p.depth, p.loop_depth, p.breakable_depth))
        .collect();
    assert_eq!(depths, [(1, 0, 0), (2, 1, 1), (3, 1, 2), (2, 1, 1)]);
}

#[test]
fn a_program_for_one_line_and_variable() {
    let unit = parse("int g;\nint f(int a) {\n  int b = a;\n\n  b++;  b--;\n  return b;\n}\n");
    let actionable = instrument::at(&unit, 5, "b").unwrap();
    assert_eq!(
        actionable.text.lines().nth(4),
        Some("  opt_me_not(/* b */); b++;  b--;")
    );
    assert_eq!((actionable.variable.line, actionable.point.line), (3, 5));
    let error = instrument::at(&unit, 4, "b").unwrap_err().to_string();
    assert!(
        error.contains("nearest lines that have one: 3, 5, 6"),
        "{error}"
    );
    let error = instrument::at(&unit, 3, "b").unwrap_err().to_string();
    assert!(error.contains("visible there: a, g"), "{error}");

    let points: Vec<_> = unit.points().points.iter().collect();
    let all = instrument::barriers(&unit, &[points[3], points[0], points[0]]).unwrap();
    assert_eq!(
        all,
        "int g;\nint f(int a) {\n  opt_me_not(); int b = a;\n\n  b++;  b--;\n  opt_me_not(); return b;\n}\n"
    );
    let shadow = instrument::print_statement(&unit, points[2], "printf(\"%d\", b);").unwrap();
    assert!(shadow.contains("  b++;  printf(\"%d\", b); b--;\n"));
    assert!(instrument::print_statement(&unit, points[2], "a;\nb;").is_err());
}

#[test]
fn errors_carry_clangs_words() {
    let error = try_parse("int f(void) {\n  return x;\n}\nint", &[])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/nowhere/t.c:2:10: use of undeclared identifier 'x'"),
        "{error}"
    );
    // Nested functions are gcc's, not clang's.
    assert!(try_parse("int f(void) { int g(void) { return 1; } return g(); }", &[]).is_err());
    assert!(
        try_parse("#include \"missing.h\"\n", &[])
            .unwrap_err()
            .to_string()
            .contains("missing.h")
    );
    assert!(try_parse("int x;", &["-std=klingon"]).is_err());
    // What gcc takes with a warning is taken here.
    try_parse("f(a) { g(a); char *p = a; return; }", &["-Werror", "-Wall"]).unwrap();
}

//! Points, scopes and moves of Rust programs.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use candor_source::{Error, Point, SkipReason, Unit, instrument, rust};

fn unit(text: &str) -> Unit {
    rust::parse(Path::new("p.rs"), text).unwrap()
}

fn lines(unit: &Unit) -> Vec<u32> {
    let points = &unit.points().points;
    points.iter().map(|point| point.line).collect()
}

fn on(unit: &Unit, line: u32) -> Point {
    unit.points_on(line).next().unwrap().clone()
}

fn visible(unit: &Unit, line: u32) -> Vec<(String, u32)> {
    let point = on(unit, line);
    let visible = unit.visible_at(&point);
    let mut names: Vec<_> = visible.iter().map(|v| (v.name.clone(), v.line)).collect();
    names.sort();
    names
}

fn whole(unit: &Unit, line: u32, name: &str) -> bool {
    let point = on(unit, line);
    let visible = unit.visible_at(&point);
    let variable = visible.iter().find(|v| v.name == name).unwrap();
    unit.is_whole(&point, variable)
}

#[test]
fn points_are_before_statements_of_every_block() {
    let text = "fn main() {
    let a = if true { 1 } else { 2 };
    for i in 0..a {
        let f = |x: i32| {
            x + i
        };
        match f(i) {
            0 => {
                println!(\"0\");
            }
            _ => (),
        }
    }
    loop {
        break;
    }
    unsafe { a; }
}
";
    let unit = unit(text);
    assert_eq!(lines(&unit), [2, 2, 2, 3, 4, 5, 7, 9, 14, 15, 17, 17]);
    assert_eq!(unit.points().skipped[&SkipReason::UnbracedBody], 1);
    assert!(unit.is_rust() && unit.has_unsafe());
}

#[test]
fn barriers_keep_lines_and_are_called_by_path() {
    let text = "mod inner {\n    pub fn f() -> i32 {\n        #[allow(unused)]\n        let a = 1; a\n    }\n}\nfn main() {\n    inner::f();\n}\n";
    let unit = unit(text);
    let points: Vec<&Point> = unit.points().points.iter().collect();
    let instrumented = instrument::barriers(&unit, &points).unwrap();
    assert_eq!(instrumented.lines().count(), text.lines().count());
    assert_eq!(
        instrumented.lines().nth(2),
        Some("        crate::opt_me_not(); #[allow(unused)]")
    );
    assert_eq!(
        instrumented.lines().nth(3),
        Some("        let a = 1; crate::opt_me_not(); a")
    );
}

#[test]
fn what_cannot_take_a_barrier_is_counted() {
    let unit = unit(
        "const fn c() -> i32 { let a = 1; a }
async fn d() { let b = 2; drop(b); }
macro_rules! m { ($x:expr) => {{ let y = $x; y + 1 }}; }
fn main() { let z = m!({ let q = 1; q }); }
",
    );
    let skipped = &unit.points().skipped;
    assert_eq!(skipped[&SkipReason::ConstFunction], 2);
    assert_eq!(skipped[&SkipReason::AsyncFunction], 2);
    assert_eq!(skipped[&SkipReason::MacroExpansion], 2);
    assert_eq!(lines(&unit), [4]);
}

#[test]
fn names_are_visible_from_their_declaration_to_the_end_of_their_scope() {
    let text = "static S: i32 = 1;
fn f(p: i32, (q, r): (i32, i32)) {
    let a = p;
    let a = a + q;
    if let Some(b) = Some(r) {
        drop(b);
    }
    while let Some(c) = Some(1) {
        drop(c);
    }
    match a {
        d @ 1..=3 if d > 1 => {
            drop(d);
        }
        _ => {}
    }
    let g = |e: i32| {
        e
    };
    fn nested() {
        drop(1);
    }
    g(1);
}
fn main() {}
";
    let unit = unit(text);
    let has = |line: u32, names: &[(&str, u32)]| {
        let expected: Vec<(String, u32)> =
            names.iter().map(|(n, l)| ((*n).to_owned(), *l)).collect();
        assert_eq!(visible(&unit, line), expected, "line {line}");
    };
    has(4, &[("S", 1), ("a", 3), ("p", 2), ("q", 2), ("r", 2)]);
    has(
        6,
        &[("S", 1), ("a", 4), ("b", 5), ("p", 2), ("q", 2), ("r", 2)],
    );
    has(
        9,
        &[("S", 1), ("a", 4), ("c", 8), ("p", 2), ("q", 2), ("r", 2)],
    );
    has(
        13,
        &[("S", 1), ("a", 4), ("d", 12), ("p", 2), ("q", 2), ("r", 2)],
    );
    has(
        18,
        &[("S", 1), ("a", 4), ("e", 17), ("p", 2), ("q", 2), ("r", 2)],
    );
    has(21, &[("S", 1)]);
    has(
        23,
        &[("S", 1), ("a", 4), ("g", 17), ("p", 2), ("q", 2), ("r", 2)],
    );
}

#[test]
fn a_name_without_a_value_is_not_visible() {
    let unit = unit(
        "fn main() {\n    let x;\n    drop(1);\n    if true {\n        x = 1;\n    } else {\n        x = 2;\n    }\n    drop(x);\n}\n",
    );
    assert!(visible(&unit, 3).is_empty());
    assert_eq!(visible(&unit, 9), [("x".to_owned(), 2)]);
}

#[test]
fn a_use_by_value_may_be_a_move() {
    let text = "struct P { s: String }
impl P { fn eat(self) {} fn look(&self) {} }
fn main() {
    let a = String::new(); let b = String::new(); let c = P { s: String::new() }; let d = P { s: a.clone() };
    println!(\"{}\", a.len());
    drop(a);
    c.look(); d.look();
    c.eat();
    let e = d.s;
    let f = move || b.len();
    f();
}
";
    let unit = unit(text);
    assert!(whole(&unit, 6, "a"));
    assert!(!whole(&unit, 7, "a"));
    assert!(whole(&unit, 8, "c"));
    assert!(!whole(&unit, 9, "c"));
    assert!(whole(&unit, 9, "d"));
    assert!(!whole(&unit, 10, "d"));
    assert!(whole(&unit, 10, "b"));
    assert!(!whole(&unit, 11, "b"));
}

#[test]
fn variables_that_share_name_and_line_are_not_told_apart() {
    let unit = unit(
        "#[derive(Clone, Copy)]\nstruct C;\nfn main() {\n    let x = 1; let x = x + 1;\n    let y = x;\n    drop(y);\n}\n",
    );
    let point = on(&unit, 6);
    let distinct: Vec<bool> = unit
        .visible_at(&point)
        .iter()
        .map(|variable| unit.is_distinct(variable))
        .collect();
    assert_eq!(distinct, [false, true]);
    assert!(unit.is_copy_type("C") && !unit.is_copy_type("D"));
}

#[test]
fn what_is_not_rust_is_refused_in_words() {
    let words = |text: &str| {
        rust::parse(Path::new("p.rs"), text)
            .unwrap_err()
            .to_string()
    };
    assert!(words("fn main( {").contains("p.rs:1:"));
    let deep = format!("fn main() {{ {}1{}; }}", "(".repeat(5000), ")".repeat(5000));
    assert!(words(&deep).contains("nest more than"));
    let long = format!("fn main() {{ {}true; }}", "!".repeat(100_000));
    assert!(words(&long).contains("nest more than"));
    assert!(matches!(
        rust::parse(Path::new("p.rs"), &" ".repeat(2 << 20)),
        Err(Error::TooLarge { .. })
    ));
}

#[test]
fn a_script_line_moves_nothing() {
    let unit = unit("#!/usr/bin/env rust\nfn main() {\n    let é = 1; drop(é);\n}\n");
    let points = &unit.points().points;
    assert_eq!(lines(&unit), [3, 3]);
    assert!(unit.text()[points[1].offset..].starts_with("drop"));
}

//! What the integration tests share: one libclang, and sources with marks in them.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::sync::OnceLock;

use candor_source::{Clang, Error, Point, Unit};

pub fn clang() -> &'static Clang {
    static CLANG: OnceLock<Clang> = OnceLock::new();
    CLANG.get_or_init(|| Clang::find().unwrap())
}

pub fn try_parse(text: &str, flags: &[&str]) -> Result<Unit, Error> {
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    clang().parse(Path::new("/nowhere/t.c"), Some(text), &flags)
}

pub fn parse(text: &str) -> Unit {
    try_parse(text, &[]).unwrap()
}

/// Splits a source with `@` marks into the source and the offsets of the marks.
pub fn unmark(marked: &str) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut marks = Vec::new();
    for part in marked.split('@') {
        text.push_str(part);
        marks.push(text.len());
    }
    marks.pop();
    (text, marks)
}

/// The source with an `@` at each point: what a failing test shows.
pub fn mark(unit: &Unit) -> String {
    let mut text = unit.text().to_string();
    let mut offsets: Vec<usize> = unit.points().points.iter().map(|p| p.offset).collect();
    assert!(offsets.is_sorted(), "points are in source order");
    offsets.reverse();
    for offset in offsets {
        text.insert(offset, '@');
    }
    text
}

/// The names visible at a point, innermost first, headers' left out.
pub fn names<'u>(unit: &'u Unit, point: &Point) -> Vec<&'u str> {
    let visible = unit.visible_at(point);
    visible
        .iter()
        .map(|variable| variable.name.as_str())
        .collect()
}

//! Programs with barriers and print statements in them (paper 000 §4.2 and §4.3).
//!
//! Everything is inserted on the line of the statement it precedes and has no newline, so lines in the debug
//! information mean the user's lines. The prototype of the barrier is not inserted at all, because a file may
//! begin with a directive, an `#if`, or old-style code where no place is safe: put [`BARRIER_HEADER`] and a `#line 1` in
//! front of the text, or give it by `-include`; neither moves lines or columns.

use crate::{EditSet, Error, Point, Unit, Variable};

/// The name of the barrier: an external function the compiler knows nothing about.
pub const BARRIER: &str = "opt_me_not";

/// What the header given by `-include` must hold. Idempotent, and valid in every C since 1989.
pub const BARRIER_HEADER: &str = "extern void opt_me_not(void);\n";

/// A C file that defines the barrier; to be compiled on its own, without link-time optimisation.
pub const BARRIER_DEFINITION: &str =
    "void opt_me_not(void);\nvoid opt_me_not(void) { __asm__ volatile (\"\" : : : \"memory\"); }\n";

/// A program for one place and one variable: the paper's actionable program P<s,v>.
#[derive(Debug)]
pub struct Actionable<'unit> {
    /// The program with its one barrier.
    pub text: String,
    /// Where the barrier is.
    pub point: &'unit Point,
    /// The variable to inspect there.
    pub variable: &'unit Variable,
}

/// The program with a barrier before each of `points`; a point given twice gets one barrier, and one before a call of
/// the barrier none.
///
/// # Errors
/// [`Error::Edit`] when a point is not one of `unit`'s.
pub fn barriers(unit: &Unit, points: &[&Point]) -> Result<String, Error> {
    let mut offsets: Vec<usize> = points
        .iter()
        .filter(|point| !is_barrier(unit, point))
        .map(|point| point.offset)
        .collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut edits = EditSet::new();
    for offset in offsets {
        edits.insert(offset, barrier_call(unit));
    }
    edits.apply(unit.text())
}

/// The statement that calls the barrier, with a blank behind it.
#[must_use]
pub fn barrier_call(unit: &Unit) -> String {
    if unit.is_rust() {
        crate::rust::BARRIER_CALL.to_owned()
    } else {
        format!("{BARRIER}(); ")
    }
}

/// Whether the statement at a point is a call of the barrier: a program may bring its own.
#[must_use]
pub fn is_barrier(unit: &Unit, point: &Point) -> bool {
    let statement = unit.text().get(point.span.clone()).unwrap_or_default();
    statement
        .strip_prefix(BARRIER)
        .is_some_and(|rest| rest.trim_start().starts_with('('))
}

/// A barrier as a statement that needs no declaration elsewhere, for programs that bring their own.
pub const OWN_BARRIER: &str = "{ extern void opt_me_not(void); opt_me_not(); } ";

/// The program with [`OWN_BARRIER`] before each of `points`.
///
/// # Errors
/// [`Error::Edit`] when a point is not one of `unit`'s.
pub fn own_barriers(unit: &Unit, points: &[&Point]) -> Result<String, Error> {
    let mut edits = EditSet::new();
    for point in points {
        if !is_barrier(unit, point) {
            edits.insert(point.offset, OWN_BARRIER);
        }
    }
    edits.apply(unit.text())
}

/// The text with its calls of the barrier made into nothing, for builds that do not link it.
#[must_use]
pub fn without_barriers(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(at) = rest.find(BARRIER) {
        let (before, after) = rest.split_at(at);
        let call = after.get(BARRIER.len()..).unwrap_or_default();
        kept.push_str(before);
        match call
            .trim_start()
            .strip_prefix('(')
            .map(str::trim_start)
            .and_then(|inner| inner.strip_prefix(')'))
        {
            Some(end) => {
                kept.push_str("(void)0");
                rest = end;
            }
            None => {
                kept.push_str(BARRIER);
                rest = call;
            }
        }
    }
    kept + rest
}

/// The program with one barrier before the first point on `line`, marked with the variable to inspect.
///
/// # Errors
/// [`Error::NoPoint`] with the nearest lines that have one, [`Error::NotVisible`] with what is visible.
pub fn at<'unit>(unit: &'unit Unit, line: u32, variable: &str) -> Result<Actionable<'unit>, Error> {
    let Some(point) = unit.points_on(line).next() else {
        let mut lines: Vec<u32> = unit
            .points()
            .points
            .iter()
            .map(|point| point.line)
            .collect();
        lines.dedup();
        lines.sort_by_key(|candidate| (candidate.abs_diff(line), *candidate));
        lines.dedup();
        lines.truncate(4);
        return Err(Error::NoPoint {
            line,
            nearest: lines,
        });
    };
    let visible = unit.visible_at(point);
    let Some(found) = visible.iter().find(|candidate| candidate.name == variable) else {
        return Err(Error::NotVisible {
            name: variable.to_string(),
            line,
            visible: visible
                .iter()
                .map(|candidate| candidate.name.clone())
                .collect(),
        });
    };
    let mut edits = EditSet::new();
    let call = barrier_call(unit).replace("()", &format!("(/* {variable} */)"));
    edits.insert(point.offset, call);
    Ok(Actionable {
        text: edits.apply(unit.text())?,
        point,
        variable: found,
    })
}

/// The program with `statement` (complete, with its semicolon) before `point`, as in the paper's shadow
/// programs.
///
/// # Errors
/// [`Error::Edit`] when the statement has a newline, which would move the lines below it, or when the point is
/// not one of `unit`'s.
pub fn print_statement(unit: &Unit, point: &Point, statement: &str) -> Result<String, Error> {
    if statement.contains(['\n', '\r']) {
        return Err(Error::Edit {
            start: point.offset,
            end: point.offset,
            reason:
                "has a newline in its text, which would move the lines below; write it on one line"
                    .to_string(),
        });
    }
    let mut edits = EditSet::new();
    edits.insert(point.offset, format!("{statement} "));
    edits.apply(unit.text())
}

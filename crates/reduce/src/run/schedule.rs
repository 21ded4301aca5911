//! The order of the passes: coarse ones until they rest, then fine ones, then single tokens.

use candor_predicate::Case;

use crate::edit::Edit;
use crate::jury::Stop;
use crate::passes::{
    constants, control, declarations, expressions, fields, functions, inline, items, merge,
    statements, tokens, variables,
};
use crate::sweep::{Growth, Session};
use crate::syntax::{self, Tree};

/// Names no pass should waste candidates on removing.
struct Keep<'c> {
    function: Option<&'c str>,
    variable: Option<&'c str>,
}

fn keep(case: &Case) -> Keep<'_> {
    let subject = case.claim.subject();
    Keep {
        function: subject.and_then(|subject| subject.function.as_deref()),
        variable: subject.map(|subject| subject.root()),
    }
}

/// One edit that deletes what neither `main` nor the case needs.
pub fn unreachable(tree: &Tree, case: &Case) -> Edit {
    let keep = keep(case);
    let roots: Vec<&str> = ["main"]
        .into_iter()
        .chain(keep.function)
        .chain(keep.variable)
        .collect();
    items::unreachable(tree, &roots)
}

fn tree(session: &Session<'_, '_>) -> Result<Tree, Stop> {
    Ok(syntax::parse(&session.best)?)
}

/// Large parts: functions, blocks of statements, top-level items.
pub fn coarse(session: &mut Session<'_, '_>, case: &Case) -> Result<(), Stop> {
    let keep = keep(case);
    loop {
        let before = session.best.len();
        drop_unreachable(session, case)?;
        session.jury.announce("functions");
        let edits = functions::remove(&tree(session)?, keep.function);
        session.sweep(edits, Growth::Never)?;
        all_statements(session)?;
        drop_unreachable(session, case)?;
        session.jury.announce("top-level items");
        let edits = items::each(&tree(session)?);
        session.sweep(edits, Growth::Never)?;
        session.jury.announce("control flow");
        let edits = control::bodies(&tree(session)?);
        session.sweep(edits, Growth::Never)?;
        // another round only where this one paid
        if session.best.len() * 10 > before * 9 {
            return Ok(());
        }
    }
}

fn drop_unreachable(session: &mut Session<'_, '_>, case: &Case) -> Result<(), Stop> {
    session.jury.announce("unused items");
    let edit = unreachable(&tree(session)?, case);
    if !edit.changes.is_empty() {
        session.sweep(vec![edit], Growth::Never)?;
    }
    Ok(())
}

fn all_statements(session: &mut Session<'_, '_>) -> Result<(), Stop> {
    session.jury.announce("statements");
    let mut level = 1;
    loop {
        let tree = tree(session)?;
        if level > statements::deepest(&tree) {
            return Ok(());
        }
        session.sweep(statements::at_level(&tree, level), Growth::Never)?;
        level += 1;
    }
}

/// How a pass's edits are tried.
enum How {
    /// Together, then halves.
    Groups,
    /// Each alone.
    Alone,
}

/// A pass: its name, its edits, how they are tried, what they may cost.
type Pass<'p> = (
    &'static str,
    Box<dyn Fn(&Tree) -> Vec<Edit> + 'p>,
    How,
    Growth,
);

fn passes<'p>(keep: &'p Keep<'p>) -> Vec<Pass<'p>> {
    use Growth::{Never, UpTo};
    use How::{Alone, Groups};
    fn pass<'p>(
        name: &'static str,
        edits: impl Fn(&Tree) -> Vec<Edit> + 'p,
        how: How,
        growth: Growth,
    ) -> Pass<'p> {
        (name, Box::new(edits), how, growth)
    }
    let (function, variable) = (keep.function, keep.variable);
    vec![
        pass(
            "functions",
            move |t| functions::remove(t, function),
            Groups,
            Never,
        ),
        pass(
            "hollow functions",
            move |t| functions::hollow(t, function),
            Groups,
            Never,
        ),
        pass("top-level items", items::each, Groups, Never),
        pass(
            "declarators",
            declarations::single_declarators,
            Groups,
            Never,
        ),
        pass("control flow", control::bodies, Groups, Never),
        pass("branches", control::others, Alone, Never),
        pass(
            "variables",
            move |t| variables::remove(t, variable),
            Groups,
            Never,
        ),
        pass("parameters", functions::remove_parameters, Groups, UpTo(8)),
        pass("results", functions::drop_results, Groups, Never),
        pass("typedefs", declarations::typedefs, Groups, UpTo(4)),
        pass(
            "struct typedefs",
            declarations::untypedef_structs,
            Groups,
            UpTo(20),
        ),
        pass("fields", fields::remove, Groups, Never),
        pass("structs of one field", fields::unwrap, Alone, UpTo(4)),
        pass(
            "inlining",
            move |t| inline::inline(t, function),
            Alone,
            UpTo(inline::GROWTH),
        ),
        pass("arrays", variables::scalarise, Groups, Never),
        pass(
            "pointers",
            move |t| variables::dereference(t, variable),
            Alone,
            UpTo(4),
        ),
        pass("indirection", variables::less_indirect, Alone, Never),
        pass("specifiers", declarations::specifiers, Groups, Never),
        pass("initialisers", declarations::initialisers, Groups, Never),
        pass(
            "initialiser items",
            declarations::initialiser_items,
            Groups,
            Never,
        ),
        pass(
            "initialiser lists",
            declarations::unwrap_lists,
            Groups,
            Never,
        ),
        pass(
            "first operands",
            |t| expressions::to_operand(t, true),
            Groups,
            Never,
        ),
        pass(
            "last operands",
            |t| expressions::to_operand(t, false),
            Groups,
            Never,
        ),
        pass("middle operands", expressions::to_middle, Alone, Never),
        pass("assignments", expressions::assignments, Alone, Never),
        pass("types", |t| declarations::types(t, "int"), Groups, Never),
        pass("strings", constants::strings, Groups, Never),
        pass("characters", constants::characters, Groups, Never),
        pass(
            "first assignments",
            variables::join_first_assignment,
            Alone,
            Never,
        ),
        pass("merged declarations", merge::merge, Groups, Never),
    ]
}

/// Small parts, until a whole round changes nothing; then single tokens.
pub fn fine(session: &mut Session<'_, '_>, case: &Case) -> Result<(), Stop> {
    let keep = keep(case);
    loop {
        let before = session.best.clone();
        all_statements(session)?;
        for (name, edits, how, growth) in passes(&keep) {
            session.jury.announce(name);
            let edits = edits(&tree(session)?);
            match how {
                How::Groups => session.sweep(edits, growth)?,
                How::Alone => session.one_by_one(edits, growth)?,
            };
        }
        values(session)?;
        drop_unreachable(session, case)?;
        if session.best == before {
            break;
        }
    }
    session.jury.announce("tokens");
    for width in (1..=tokens::WIDEST).rev() {
        let edits = tokens::windows(&tree(session)?, width);
        session.one_by_one(edits, Growth::Never)?;
    }
    Ok(())
}

/// Values become numbers, from the outside in; numbers become plain.
fn values(session: &mut Session<'_, '_>) -> Result<(), Stop> {
    session.jury.announce("values");
    for number in ["0", "1"] {
        let mut level = 0;
        loop {
            let tree = tree(session)?;
            if level > expressions::deepest(&tree) {
                break;
            }
            session.sweep(expressions::to_number(&tree, number, level), Growth::Never)?;
            level += 1;
        }
    }
    session.jury.announce("numbers");
    for rank in 0..constants::RANKS {
        let edits = constants::numbers(&tree(session)?, rank);
        session.sweep(edits, Growth::Never)?;
    }
    Ok(())
}

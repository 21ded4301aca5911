//! Which static variables a program ever reads. One that is only written may lose its stores, and then its debug
//! information shows an old value: one known cause of wrong values, to be told from all others.
//!
//! Not a read is being the left side of an assignment, or the operand of `++` or `--`, as a statement of its own (its
//! value is not used, and compilers remove `x++` of what nobody else reads as well); being the operand of `sizeof`; and
//! occurring in the variable's own initialiser. Everything else is one, taking the address above all.

// libclang's constants keep libclang's names.
#![allow(non_upper_case_globals)]

use std::collections::HashSet;

use clang_sys::*;

use crate::api::{Cursor, Tu};
use crate::unit::{ExpressionKind, Storage};
use crate::walk::Walker;

/// What the walk notes on its way.
#[derive(Default)]
pub struct Reads {
    /// Identities of references that are written and not read.
    written: HashSet<usize>,
    /// Per variable: the identity of what it declares.
    declared: Vec<usize>,
}

/// The identity of a declaration, the same for all that declare the same thing.
fn identity(tu: &Tu<'_>, declaration: Cursor) -> usize {
    tu.canonical_cursor(declaration).data[0] as usize
}

/// The identity of an expression.
fn node(expression: Cursor) -> usize {
    expression.data[1] as usize
}

impl Walker<'_> {
    /// Notes a variable that was just pushed.
    pub fn note_declared(&mut self, cursor: Cursor) {
        let identity = identity(self.tu, cursor);
        self.reads.declared.push(identity);
    }

    /// Looks at an expression whose value is not used.
    pub fn unused_value(&mut self, expression: Cursor) {
        let tu = self.tu;
        let kind = tu.kind(expression);
        let children = tu.children(expression);
        match (kind, children.as_slice()) {
            (CXCursor_ParenExpr | CXCursor_UnexposedExpr, [inner]) => self.unused_value(*inner),
            // a cast to void is the only one that stands alone; its type may be a child, too
            (CXCursor_CStyleCastExpr, [.., inner]) => self.unused_value(*inner),
            (CXCursor_ConditionalOperator, [_, yes, no]) => {
                self.unused_value(*yes);
                self.unused_value(*no);
            }
            (
                CXCursor_BinaryOperator | CXCursor_CompoundAssignOperator | CXCursor_UnaryOperator,
                [target, rest @ ..],
            ) => {
                let span = self.span(expression);
                let written = match self.expression_kind(expression, &span) {
                    ExpressionKind::Assignment => self.written_variable(*target),
                    _ => None,
                };
                match (written, rest) {
                    (Some(reference), _) => {
                        self.reads.written.insert(node(reference));
                    }
                    (None, [second]) if self.is_comma(*target) => {
                        self.unused_value(*target);
                        self.unused_value(*second);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Whether a part of a `for`'s head is its first or last: the one in the middle is used. libclang leaves out those
    /// that are empty, so the text must tell.
    pub fn is_no_condition(&self, statement: Cursor, part: Cursor) -> bool {
        let (statement, start) = (self.span(statement), self.tu.extent(part).0);
        let before = self.slice(&(statement.start..self.span(part).start));
        let semicolons = crate::text::without_comments(before).matches(';').count();
        self.tu.is_written_in_main(start) && matches!(semicolons, 0 | 2)
    }

    /// Whether a comma stands behind the left operand.
    fn is_comma(&self, left: Cursor) -> bool {
        let behind = crate::text::skip_blank(&self.text, self.span(left).end);
        self.rest(behind).starts_with(',')
    }

    /// The reference to the variable that a store to this goes to, for certain.
    fn written_variable(&self, target: Cursor) -> Option<Cursor> {
        let tu = self.tu;
        let mut at = target;
        loop {
            let children = tu.children(at);
            at = match (tu.kind(at), children.as_slice()) {
                (CXCursor_DeclRefExpr, _) => return Some(at),
                (CXCursor_ParenExpr | CXCursor_UnexposedExpr, [inner]) => *inner,
                (CXCursor_MemberRefExpr, [base]) if !self.is_pointer(*base) => *base,
                (CXCursor_ArraySubscriptExpr, [base, _]) => {
                    let mut base = *base;
                    while matches!(tu.kind(base), CXCursor_ParenExpr | CXCursor_UnexposedExpr) {
                        base = *tu.children(base).first()?;
                    }
                    let kind = tu.canonical(tu.type_of(base)).kind;
                    if kind != CXType_ConstantArray {
                        return None;
                    }
                    base
                }
                _ => return None,
            };
        }
    }

    fn is_pointer(&self, expression: Cursor) -> bool {
        self.tu.canonical(self.tu.type_of(expression)).kind == CXType_Pointer
    }

    /// The static variables (by number) that nothing in the whole unit reads.
    pub fn never_read(&self) -> HashSet<usize> {
        let tu = self.tu;
        let statics = || {
            let all = self.variables.iter().zip(&self.reads.declared);
            all.filter(|(variable, _)| variable.storage == Storage::Static)
        };
        let mut open: HashSet<usize> = statics().map(|(_, identity)| *identity).collect();
        if open.is_empty() {
            return HashSet::new();
        }
        for cursor in tu.children(tu.root()) {
            let declares = matches!(tu.kind(cursor), CXCursor_VarDecl | CXCursor_FunctionDecl);
            if declares && !tu.is_in_system_header(tu.location(cursor)) {
                self.strike_out(cursor, None, &mut open);
            }
        }
        let unread = statics().filter(|(_, identity)| open.contains(identity));
        unread.map(|(variable, _)| variable.id).collect()
    }

    /// Strikes what is read below a cursor; `own` is the variable whose initialiser it is in.
    fn strike_out(&self, cursor: Cursor, own: Option<usize>, open: &mut HashSet<usize>) {
        let tu = self.tu;
        let own = match tu.kind(cursor) {
            CXCursor_VarDecl => Some(identity(tu, cursor)),
            _ => own,
        };
        let mut see = |child: Cursor| match tu.kind(child) {
            CXCursor_DeclRefExpr => {
                let identity = identity(tu, tu.referenced(child));
                if own != Some(identity) && !self.reads.written.contains(&node(child)) {
                    open.remove(&identity);
                }
                CXChildVisit_Continue
            }
            // sizeof and its like
            CXCursor_UnaryExpr => CXChildVisit_Continue,
            CXCursor_VarDecl => {
                self.strike_out(child, own, open);
                CXChildVisit_Continue
            }
            _ => CXChildVisit_Recurse,
        };
        tu.visit(cursor, &mut see);
    }
}

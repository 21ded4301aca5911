//! One statement: whether there is a point before it, what kind it is, and what stands between it and the one
//! before.

// libclang's constants keep libclang's names.
#![allow(non_upper_case_globals)]

use std::ops::Range;
use std::path::Path;

use clang_sys::*;

use crate::api::Cursor;
use crate::text::{skip_blank, without_comments};
use crate::unit::{ExpressionKind, Point, SkipReason, StatementKind};
use crate::walk::{Around, Walker};

impl Walker<'_> {
    /// A point before `statement`, or why there is none. `gap` is where the statement before it ended, `next` the one
    /// behind it in its block.
    pub fn consider(
        &mut self,
        statement: Cursor,
        around: Around,
        gap: Option<usize>,
        next: Option<Cursor>,
    ) -> Result<Point, SkipReason> {
        let tu = self.tu;
        let start = tu.extent(statement).0;
        let place = tu.place(start);
        if !tu.is_written_in_main(start) {
            if !tu.is_main(place.file) {
                return Err(SkipReason::IncludedFile);
            }
            if !self.begins_with_macro(statement, gap, next) {
                return Err(SkipReason::MacroExpansion);
            }
        }
        if let Some(function) = self.functions.get(around.function) {
            if function.is_naked() {
                return Err(SkipReason::NakedFunction);
            }
            if function.is_pure() {
                return Err(SkipReason::PureFunction);
            }
        }
        let mut span = self.span(statement);
        let kind = match tu.kind(statement) {
            CXCursor_LabelStmt => return Err(SkipReason::LabelledStatement),
            CXCursor_CaseStmt | CXCursor_DefaultStmt => return Err(SkipReason::CaseStatement),
            // An attribute and the statement it is about.
            CXCursor_UnexposedStmt => return Err(SkipReason::Attribute),
            _ => self
                .statement_kind(statement, &span)
                .ok_or(SkipReason::Pragma)?,
        };
        if kind == StatementKind::Declaration {
            if self.rest(span.start).starts_with("__label__") {
                return Err(SkipReason::LocalLabel);
            }
            if self.c89 {
                return Err(SkipReason::Declaration);
            }
        }
        let line_start = self
            .slice(&(0..span.start))
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let gap = gap.filter(|gap| *gap <= span.start).unwrap_or(line_start);
        if let Some(reason) = attached(self.slice(&(gap..span.start))) {
            return Err(reason);
        }
        let semicolon = skip_blank(&self.text, span.end);
        let has_semicolon = matches!(
            kind,
            StatementKind::Declaration | StatementKind::Compound | StatementKind::Null
        ) || self.slice(&span).ends_with('}');
        if !has_semicolon && self.rest(semicolon).starts_with(';') {
            span.end = semicolon + 1;
        }
        let (debug_file, debug_line) = self.debug_place(start, place.line);
        Ok(Point {
            id: self.points.points.len(),
            line: place.line,
            column: place.column,
            debug_line,
            debug_file: debug_file.filter(|file| Path::new(file) != self.path),
            offset: span.start,
            function: around.function,
            statement: kind,
            span,
            depth: around.depth,
            loop_depth: around.loops,
            breakable_depth: around.breakables,
            in_statement_expression: around.in_statement_expression,
            scope: around.scope,
            order: self.tick(),
        })
    }

    /// Whether a statement whose first token comes out of a macro begins where the macro is used, so that another
    /// statement can stand in front of the macro's name: the block around it is written in the file, what was before it
    /// is over there, and the macro does not make the beginning of the next statement as well.
    fn begins_with_macro(
        &self,
        statement: Cursor,
        gap: Option<usize>,
        next: Option<Cursor>,
    ) -> bool {
        let span = self.span(statement);
        let Some(gap) = gap.filter(|gap| *gap <= span.start && span.start < span.end) else {
            return false;
        };
        // An expression ends before its semicolon, which the macro may have brought.
        let over = self.slice(&(0..gap)).ends_with([';', '{', '}'])
            || without_comments(self.slice(&(gap..span.start))).contains(';');
        over && next.is_none_or(|next| self.span(next).start >= span.end)
    }

    /// The kind of a statement that has neither label nor attribute; `None` for what is none of C's (OpenMP).
    fn statement_kind(&self, statement: Cursor, span: &Range<usize>) -> Option<StatementKind> {
        Some(match self.tu.kind(statement) {
            CXCursor_IfStmt => StatementKind::If,
            CXCursor_ForStmt => StatementKind::For,
            CXCursor_WhileStmt => StatementKind::While,
            CXCursor_DoStmt => StatementKind::Do,
            CXCursor_SwitchStmt => StatementKind::Switch,
            CXCursor_ReturnStmt => StatementKind::Return,
            CXCursor_GotoStmt | CXCursor_IndirectGotoStmt => StatementKind::Goto,
            CXCursor_BreakStmt => StatementKind::Break,
            CXCursor_ContinueStmt => StatementKind::Continue,
            CXCursor_CompoundStmt => StatementKind::Compound,
            CXCursor_NullStmt => StatementKind::Null,
            CXCursor_DeclStmt => StatementKind::Declaration,
            CXCursor_AsmStmt | CXCursor_MSAsmStmt => StatementKind::Asm,
            kind if self.tu.is_expression(kind) => {
                StatementKind::Expression(self.expression_kind(statement, span))
            }
            _ => return None,
        })
    }

    pub fn expression_kind(&self, expression: Cursor, span: &Range<usize>) -> ExpressionKind {
        let is_assignment = match self.tu.kind(expression) {
            CXCursor_CallExpr => return ExpressionKind::Call,
            CXCursor_CompoundAssignOperator => true,
            CXCursor_UnaryOperator => {
                let text = self.slice(span);
                ["++", "--"]
                    .iter()
                    .any(|op| text.starts_with(op) || text.ends_with(op))
            }
            // libclang names the operator only since version 17; the text always has.
            CXCursor_BinaryOperator => match self.tu.children(expression).as_slice() {
                [left, ..] => {
                    let operator = skip_blank(&self.text, self.span(*left).end);
                    let operator = self.rest(operator);
                    operator.starts_with('=') && !operator.starts_with("==")
                }
                [] => false,
            },
            _ => false,
        };
        if is_assignment {
            ExpressionKind::Assignment
        } else {
            ExpressionKind::Other
        }
    }
}

/// Whether something between two statements belongs to the second, so that nothing may come between.
fn attached(gap: &str) -> Option<SkipReason> {
    if gap
        .bytes()
        .all(|byte| byte.is_ascii_whitespace() || byte == b';')
    {
        return None;
    }
    let gap = without_comments(gap);
    if gap.contains("pragma") || gap.contains("_Pragma") {
        Some(SkipReason::Pragma)
    } else if ["__attribute", "__extension__", "__declspec", "[["]
        .iter()
        .any(|word| gap.contains(word))
    {
        Some(SkipReason::Attribute)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_next_statement_is_seen() {
        for (gap, expected) in [
            ("\n  ", None),
            (" ; /* #pragma x */ // __attribute__\n", None),
            (";\n#pragma GCC unroll 4\n", Some(SkipReason::Pragma)),
            ("_Pragma(\"x\") ", Some(SkipReason::Pragma)),
            ("__attribute__((", Some(SkipReason::Attribute)),
            ("; __extension__ ", Some(SkipReason::Attribute)),
            ("#ifdef A\n", None),
        ] {
            assert_eq!(attached(gap), expected, "{gap:?}");
        }
    }
}

//! What kind of statement it is, and what stands between it and the one before.

// libclang's constants keep libclang's names.
#![allow(non_upper_case_globals)]

use std::ops::Range;

use clang_sys::*;

use crate::api::Cursor;
use crate::text::{skip_blank, without_comments};
use crate::unit::{ExpressionKind, SkipReason, StatementKind};
use crate::walk::Walker;

impl Walker<'_> {
    /// The kind of a statement that has neither label nor attribute; `None` for what is none of C's (OpenMP).
    pub fn statement_kind(&self, statement: Cursor, span: &Range<usize>) -> Option<StatementKind> {
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

    fn expression_kind(&self, expression: Cursor, span: &Range<usize>) -> ExpressionKind {
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
pub fn attached(gap: &str) -> Option<SkipReason> {
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

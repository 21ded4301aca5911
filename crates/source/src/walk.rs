//! The walk over the main file's function bodies that finds points, scopes and variables.
//!
//! A point is the start of a statement whose parent is a block, so that one more statement can stand before it.
//! The start must be written in the main file itself: libclang says so of a location only when it is neither in
//! an included file nor in a macro's expansion or argument, whatever `#line` claims. Expressions are only looked
//! into where the text lets suspect something in them (statement expressions, `setjmp`): most programs have
//! neither, and their expressions are most of the tree.

// libclang's constants keep libclang's names.
#![allow(non_upper_case_globals)]

use std::ops::Range;
use std::path::Path;

use clang_sys::*;

use crate::api::{Cursor, Tu};
use crate::error::Error;
use crate::reads::Reads;
use crate::text::{has_line_directives, macro_use_end, may_have_statement_expressions};
use crate::types::Shape;
use crate::types_from_clang::TypeReader;
use crate::unit::{Function, Points, Scope, SkipReason, Unit, Variable};

/// `else if` chains nest, too; far beyond what people and generators write.
const MAX_NESTING: u32 = 20_000;

/// Functions that return more than once.
const RETURNS_TWICE: [&str; 8] = [
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "__builtin_setjmp",
    "savectx",
    "vfork",
    "getcontext",
];

/// What the walk has found so far.
pub struct Walker<'tu> {
    pub tu: &'tu Tu<'tu>,
    pub text: String,
    pub path: &'tu Path,
    pub types: TypeReader<'tu>,
    pub functions: Vec<Function>,
    pub variables: Vec<Variable>,
    pub scopes: Vec<Scope>,
    pub order: u32,
    pub points: Points,
    /// Whether declarations must come first in a block.
    pub c89: bool,
    line_directives: bool,
    look_for_blocks: bool,
    returns_twice: Vec<String>,
    pub reads: Reads,
    /// `main` may end without saying what the program's exit status is.
    pub any_exit_status: bool,
    /// The line where [`MAX_NESTING`] was met.
    too_deep: Option<u32>,
}

/// What is around a statement.
#[derive(Clone, Copy)]
pub struct Around {
    pub function: usize,
    pub scope: usize,
    pub depth: u32,
    pub nesting: u32,
    pub loops: u32,
    pub breakables: u32,
    pub in_statement_expression: bool,
    /// The statement's value is that of a `({ })`.
    pub is_value: bool,
}

/// What a block is the body of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Plain,
    Switch,
    StatementExpression,
}

/// Collects everything from a unit that parsed without errors.
pub fn walk<'tu>(
    tu: &'tu Tu<'tu>,
    path: &'tu Path,
    text: String,
    flags: &[String],
) -> Result<Unit, Error> {
    let mut returns_twice = Vec::new();
    if text.contains("__builtin_setjmp") {
        returns_twice.push("__builtin_setjmp".to_string());
    }
    let mut walker = Walker {
        tu,
        path,
        types: TypeReader::new(tu),
        functions: Vec::new(),
        variables: Vec::new(),
        scopes: vec![Scope::default()],
        order: 0,
        points: Points::default(),
        c89: is_c89(flags),
        line_directives: has_line_directives(&text),
        look_for_blocks: may_have_statement_expressions(&text),
        returns_twice,
        reads: Reads::default(),
        any_exit_status: false,
        too_deep: None,
        text,
    };
    for cursor in tu.children(tu.root()) {
        match tu.kind(cursor) {
            CXCursor_VarDecl => {
                walker.declare_variable(cursor, 0, None);
            }
            CXCursor_FunctionDecl => walker.function(cursor),
            _ => {}
        }
    }
    if let Some(line) = walker.too_deep {
        return Err(Error::TooDeep {
            path: path.to_path_buf(),
            line,
            limit: MAX_NESTING,
        });
    }
    let never_read = walker.never_read();
    Ok(Unit {
        never_read,
        any_exit_status: walker.any_exit_status,
        path: path.to_path_buf(),
        text: walker.text,
        functions: walker.functions,
        variables: walker.variables,
        points: walker.points,
        scopes: walker.scopes,
        language: crate::unit::Language::C,
    })
}

/// Whether the last `-std` (or `-ansi`) asks for C as of 1990 or 1994.
fn is_c89(flags: &[String]) -> bool {
    let mut c89 = false;
    for flag in flags {
        if flag == "-ansi" {
            c89 = true;
        } else if let Some(standard) = flag.strip_prefix("-std=") {
            c89 = matches!(
                standard,
                "c89" | "c90" | "gnu89" | "gnu90" | "iso9899:1990" | "iso9899:199409"
            );
        }
    }
    c89
}

impl<'tu> Walker<'tu> {
    fn skip(&mut self, reason: SkipReason) {
        *self.points.skipped.entry(reason).or_default() += 1;
    }

    /// The bytes of a cursor in the main file; of parts in a macro, those of the macro's use.
    pub fn span(&self, cursor: Cursor) -> Range<usize> {
        let (first, end) = self.tu.extent(cursor);
        let (start, end) = (self.tu.place(first), self.tu.place(end));
        // clang puts the end of what a macro's argument ends at the macro's name
        if end.offset <= start.offset
            && self.tu.is_main(start.file)
            && !self.tu.is_written_in_main(first)
        {
            return start.offset..macro_use_end(&self.text, start.offset);
        }
        let inside = self.tu.is_main(end.file) && end.offset >= start.offset;
        let end = if inside { end.offset } else { start.offset };
        start.offset..end
    }

    /// The text from an offset on.
    pub fn rest(&self, offset: usize) -> &str {
        self.text.get(offset..).unwrap_or_default()
    }

    /// The text of a range.
    pub fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The file (when not the main one by its own name) and line that debug information gives.
    pub fn debug_place(&self, location: CXSourceLocation, line: u32) -> (Option<String>, u32) {
        if self.line_directives {
            let (file, line) = self.tu.presumed(location);
            (Some(file), line)
        } else {
            (None, line)
        }
    }

    fn function(&mut self, cursor: Cursor) {
        let tu = self.tu;
        let name = tu.spelling(cursor);
        let location = tu.location(cursor);
        let system = tu.is_in_system_header(location);
        let twice = RETURNS_TWICE.contains(&name.as_str())
            || (!system && self.attributes(cursor).contains("returns_twice"));
        if twice && !self.returns_twice.contains(&name) {
            self.returns_twice.push(name.clone());
        }
        if system || !tu.is_definition(cursor) {
            return;
        }
        if !tu.is_main(tu.place(location).file) {
            self.skip(SkipReason::IncludedFile);
            return;
        }
        let mut children = tu.children(cursor).into_iter();
        let Some(body) = children.find(|child| tu.kind(*child) == CXCursor_CompoundStmt) else {
            return;
        };
        let (function, scope) = self.declare_function(cursor, body);
        if name == "main" {
            self.any_exit_status |= self.leaves_status_open(function, body);
        }
        let around = Around {
            function,
            scope,
            depth: 0,
            nesting: 0,
            loops: 0,
            breakables: 0,
            in_statement_expression: false,
            is_value: false,
        };
        self.block(body, around, BlockKind::Plain);
    }

    /// Whether this `main` may end without an exit status: it returns nothing, or is C of before 1999, where what comes of
    /// reaching its end is open, and does not end with `return` or a call of what ends the program.
    fn leaves_status_open(&self, function: usize, body: Cursor) -> bool {
        let void = |function: &Function| function.returns.shape == Shape::Void;
        if self.functions.get(function).is_some_and(void) {
            return true;
        }
        let ends = |last: &Cursor| match self.tu.kind(*last) {
            CXCursor_ReturnStmt => true,
            CXCursor_CallExpr => {
                ["exit", "_exit", "_Exit", "abort"].contains(&&*self.tu.spelling(*last))
            }
            _ => false,
        };
        self.c89 && !self.tu.children(body).last().is_some_and(ends)
    }

    fn block(&mut self, block: Cursor, around: Around, kind: BlockKind) {
        let tu = self.tu;
        let scope = self.open_scope(around.scope);
        let inside = Around {
            scope,
            depth: around.depth + 1,
            ..around
        };
        let open = tu.extent(block).0;
        let mut gap = tu
            .is_written_in_main(open)
            .then(|| tu.place(open).offset + 1);
        let mut reachable = kind != BlockKind::Switch;
        let statements = tu.children(block);
        let last = statements.len().saturating_sub(1);
        for (index, statement) in statements.iter().copied().enumerate() {
            let statement_kind = tu.kind(statement);
            reachable |= matches!(
                statement_kind,
                CXCursor_CaseStmt | CXCursor_DefaultStmt | CXCursor_LabelStmt
            );
            let is_value = kind == BlockKind::StatementExpression && index == last;
            let found = if is_value {
                Err(SkipReason::StatementExpressionEnd)
            } else if !reachable {
                Err(SkipReason::UnreachableInSwitch)
            } else {
                self.consider(statement, inside, gap, statements.get(index + 1).copied())
            };
            match found {
                Ok(point) => self.points.points.push(point),
                Err(reason) => self.skip(reason),
            }
            self.statement(statement, Around { is_value, ..inside });
            // A `case` may be anywhere inside what is not a plain declaration or expression.
            reachable |= tu.is_statement(statement_kind) && statement_kind != CXCursor_DeclStmt;
            gap = Some(self.span(statement).end);
        }
    }

    /// Descends into a statement, for the blocks and declarations in it.
    fn statement(&mut self, statement: Cursor, around: Around) {
        let tu = self.tu;
        let is_value = around.is_value;
        let around = Around {
            nesting: around.nesting + 1,
            is_value: false,
            ..around
        };
        if around.nesting > MAX_NESTING {
            let line = tu.place(tu.extent(statement).0).line;
            self.too_deep.get_or_insert(line);
            return;
        }
        let looping = Around {
            loops: around.loops + 1,
            breakables: around.breakables + 1,
            ..around
        };
        let kind = tu.kind(statement);
        let children = match kind {
            CXCursor_CompoundStmt => return self.block(statement, around, BlockKind::Plain),
            CXCursor_NullStmt | CXCursor_GotoStmt | CXCursor_BreakStmt | CXCursor_ContinueStmt => {
                return;
            }
            _ if tu.is_expression(kind) => {
                if !is_value {
                    self.unused_value(statement);
                }
                return self.expression(statement, around);
            }
            _ => tu.children(statement),
        };
        match (kind, children.as_slice()) {
            (CXCursor_IfStmt, [condition, bodies @ ..]) => {
                self.expression(*condition, around);
                for body in bodies {
                    self.body(*body, around, BlockKind::Plain);
                }
            }
            (CXCursor_ForStmt, [head @ .., body]) => {
                let scope = self.open_scope(around.scope);
                for part in head {
                    let around = Around { scope, ..around };
                    if tu.kind(*part) == CXCursor_DeclStmt {
                        self.declarations(&tu.children(*part), around);
                    } else {
                        if self.is_no_condition(statement, *part) {
                            self.unused_value(*part);
                        }
                        self.expression(*part, around);
                    }
                }
                self.body(*body, Around { scope, ..looping }, BlockKind::Plain);
            }
            (CXCursor_WhileStmt, [condition @ .., body]) => {
                self.expressions(condition, around);
                self.body(*body, looping, BlockKind::Plain);
            }
            (CXCursor_DoStmt, [body, condition @ ..]) => {
                self.body(*body, looping, BlockKind::Plain);
                self.expressions(condition, around);
            }
            (CXCursor_SwitchStmt, [value @ .., body]) => {
                self.expressions(value, around);
                let inside = Around {
                    breakables: around.breakables + 1,
                    ..around
                };
                self.body(*body, inside, BlockKind::Switch);
            }
            // The first statement behind a label is part of the labelled statement; those after it are its
            // siblings in the block.
            (CXCursor_CaseStmt | CXCursor_DefaultStmt | CXCursor_LabelStmt, [.., labelled]) => {
                if kind == CXCursor_LabelStmt {
                    let label = tu.spelling(statement);
                    if let Some(function) = self.functions.get_mut(around.function) {
                        function.labels.push(label);
                    }
                }
                self.statement(*labelled, Around { is_value, ..around });
            }
            (CXCursor_DeclStmt, declarations) => self.declarations(declarations, around),
            // An attributed statement.
            (CXCursor_UnexposedStmt, parts) => {
                for part in parts
                    .iter()
                    .filter(|part| !tu.is_attribute(tu.kind(**part)))
                {
                    self.statement(*part, around);
                }
            }
            (_, parts) => self.expressions(parts, around),
        }
    }

    /// The body of an `if`, loop or switch.
    fn body(&mut self, body: Cursor, around: Around, kind: BlockKind) {
        if self.tu.kind(body) == CXCursor_CompoundStmt {
            self.block(body, around, kind);
        } else {
            self.skip(SkipReason::UnbracedBody);
            self.statement(body, around);
        }
    }

    fn declarations(&mut self, declarations: &[Cursor], around: Around) {
        for declaration in declarations {
            if self.tu.kind(*declaration) == CXCursor_VarDecl {
                // A name is in scope in its own initialiser.
                self.declare_variable(*declaration, around.scope, Some(around.function));
                self.expression(*declaration, around);
            } else {
                self.declare_other(*declaration, around.scope);
            }
        }
    }

    fn expressions(&mut self, expressions: &[Cursor], around: Around) {
        for expression in expressions {
            self.expression(*expression, around);
        }
    }

    /// Looks into an expression for statement expressions and functions that return twice.
    fn expression(&mut self, expression: Cursor, around: Around) {
        if !self.look_for_blocks && self.returns_twice.is_empty() {
            return;
        }
        let tu = self.tu;
        let mut blocks = Vec::new();
        let mut twice = false;
        let mut see = |cursor: Cursor| match tu.kind(cursor) {
            CXCursor_StmtExpr => {
                blocks.push(cursor);
                CXChildVisit_Continue
            }
            CXCursor_BlockExpr => CXChildVisit_Continue,
            CXCursor_DeclRefExpr if !self.returns_twice.is_empty() => {
                twice |= self.returns_twice.contains(&tu.spelling(cursor));
                CXChildVisit_Continue
            }
            _ => CXChildVisit_Recurse,
        };
        if see(expression) == CXChildVisit_Recurse {
            tu.visit(expression, &mut see);
        }
        if twice && let Some(function) = self.functions.get_mut(around.function) {
            function.returns_twice_inside = true;
        }
        let around = Around {
            in_statement_expression: true,
            nesting: around.nesting + 1,
            ..around
        };
        for block in blocks.iter().flat_map(|block| tu.children(*block)) {
            if tu.kind(block) == CXCursor_CompoundStmt {
                self.block(block, around, BlockKind::StatementExpression);
            }
        }
    }
}

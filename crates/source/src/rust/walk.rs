//! One walk over a parsed Rust file: functions, scopes, names, points.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, FnArg, ImplItem, Item, Pat, Signature, Stmt, TraitItem};

use super::uses::{Assigned, Moves, is_assignment};
use crate::types::{Qualifiers, Shape, Type};
use crate::unit::{
    ExpressionKind, Function, Language, Name, Origin, Point, Points, SkipReason, StatementKind,
    Storage, Unit, Variable, VariableKind,
};
use crate::{Diagnostic, Error, unit};

/// Parses and walks.
pub(super) fn unit(path: &Path, text: String) -> Result<Unit, Error> {
    // syn cuts a byte order mark and a `#!` line off, and its spans with them.
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut parsed = text[start..].to_owned();
    if parsed.starts_with("#!")
        && !parsed
            .trim_start_matches("#!")
            .trim_start()
            .starts_with('[')
    {
        parsed.replace_range(..2, "//");
    }
    let file = syn::parse_file(&parsed).map_err(|error| {
        let at = error.span().start();
        Error::RustSyntax {
            path: path.to_owned(),
            diagnostic: Diagnostic {
                file: Some(path.display().to_string()),
                line: u32::try_from(at.line).unwrap_or(u32::MAX),
                column: u32::try_from(at.column + 1).unwrap_or(u32::MAX),
                message: error.to_string(),
            },
        }
    })?;
    let mut known = Known::default();
    known.visit_file(&file);
    let lines = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let mut walker = Walker {
        known: &known,
        start,
        lines,
        functions: Vec::new(),
        variables: Vec::new(),
        points: Points::default(),
        scopes: vec![unit::Scope::default()],
        moved: HashMap::new(),
        order: 0,
        at: Where::default(),
    };
    walker.items(&file.items);
    let Walker {
        functions,
        variables,
        points,
        scopes,
        moved,
        ..
    } = walker;
    let mut seen: HashMap<(Option<usize>, &str, u32), usize> = HashMap::new();
    for variable in &variables {
        let key = (variable.function, variable.name.as_str(), variable.line);
        *seen.entry(key).or_default() += 1;
    }
    let ambiguous = variables
        .iter()
        .filter(|v| seen.get(&(v.function, v.name.as_str(), v.line)) > Some(&1))
        .map(|v| v.id)
        .collect();
    Ok(Unit {
        never_read: HashSet::new(),
        any_exit_status: false,
        path: path.to_path_buf(),
        text,
        functions,
        variables,
        points,
        scopes,
        language: Language::Rust(crate::unit::RustFacts {
            moved,
            ambiguous,
            copy_types: known.copy_types,
            has_unsafe: known.has_unsafe,
        }),
    })
}

/// What the whole file says about methods and types, before any body is walked.
#[derive(Default)]
struct Known {
    /// Whether a method of the program takes `self` by value.
    consuming: HashMap<String, bool>,
    copy_types: BTreeSet<String>,
    has_unsafe: bool,
}

impl Known {
    fn method(&mut self, signature: &Signature) {
        if let Some(receiver) = signature.receiver() {
            let by_value =
                receiver.reference.is_none() && !matches!(&*receiver.ty, syn::Type::Reference(_));
            let known = self
                .consuming
                .entry(signature.ident.to_string())
                .or_insert(false);
            *known |= by_value;
        }
    }

    fn derives(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        for attribute in attributes {
            let tokens = match &attribute.meta {
                syn::Meta::List(list) if list.path.is_ident("derive") => list.tokens.clone(),
                _ => continue,
            };
            let copy = |token: TokenTree| matches!(token, TokenTree::Ident(word) if word == "Copy");
            if tokens.into_iter().any(copy) {
                self.copy_types.insert(name.to_string());
            }
        }
    }
}

impl<'ast> Visit<'ast> for Known {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        self.method(signature);
        self.has_unsafe |= signature.unsafety.is_some();
        visit::visit_signature(self, signature);
    }
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.derives(&item.attrs, &item.ident);
        visit::visit_item_struct(self, item);
    }
    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.derives(&item.attrs, &item.ident);
        visit::visit_item_enum(self, item);
    }
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.has_unsafe |= item.unsafety.is_some();
        if let Some((None, path, _)) = &item.trait_
            && path
                .segments
                .last()
                .is_some_and(|last| last.ident == "Copy")
            && let syn::Type::Path(of) = &*item.self_ty
            && let Some(last) = of.path.segments.last()
        {
            self.copy_types.insert(last.ident.to_string());
        }
        visit::visit_item_impl(self, item);
    }
    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.has_unsafe = true;
        visit::visit_expr_unsafe(self, block);
    }
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.has_unsafe |= names_unsafe(call.tokens.clone());
    }
}

fn names_unsafe(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "unsafe",
        TokenTree::Group(group) => names_unsafe(group.stream()),
        _ => false,
    })
}

/// Where the walk is.
#[derive(Clone, Copy, Default)]
struct Where {
    function: Option<usize>,
    scope: usize,
    depth: u32,
    loop_depth: u32,
    /// Why nothing here is a point, if so.
    closed: Option<SkipReason>,
}

struct Walker<'a> {
    known: &'a Known,
    /// Where syn's offset 0 is in the text.
    start: usize,
    /// Offsets at which lines begin.
    lines: Vec<usize>,
    functions: Vec<Function>,
    variables: Vec<Variable>,
    points: Points,
    scopes: Vec<unit::Scope>,
    moved: HashMap<usize, u32>,
    order: u32,
    at: Where,
}

impl Walker<'_> {
    fn range(&self, span: Span) -> Range<usize> {
        let range = span.byte_range();
        range.start + self.start..range.end + self.start
    }

    /// 1-based line and column, in bytes.
    fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|line| self.lines.get(line));
        let column = offset - start.copied().unwrap_or(0) + 1;
        let narrow = |number| u32::try_from(number).unwrap_or(u32::MAX);
        (narrow(line), narrow(column))
    }

    fn tick(&mut self) -> u32 {
        self.order += 1;
        self.order
    }

    fn skip(&mut self, reason: SkipReason, count: usize) {
        if count > 0 {
            *self.points.skipped.entry(reason).or_default() += count;
        }
    }

    /// Walks with a scope of its own.
    fn nested(&mut self, walk: impl FnOnce(&mut Self)) {
        let before = self.at;
        self.scopes.push(unit::Scope {
            parent: Some(before.scope),
            names: Vec::new(),
        });
        self.at.scope = self.scopes.len() - 1;
        walk(self);
        self.at = before;
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Fn(function) => self.function(&function.sig, &function.block, item.span()),
            Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    self.items(items);
                }
            }
            Item::Impl(block) => {
                for item in &block.items {
                    if let ImplItem::Fn(method) = item {
                        self.function(&method.sig, &method.block, method.span());
                    }
                }
            }
            Item::Trait(definition) => {
                for item in &definition.items {
                    if let TraitItem::Fn(method) = item
                        && let Some(block) = &method.default
                    {
                        self.function(&method.sig, block, method.span());
                    }
                }
            }
            Item::Static(item) => {
                let kind = match self.at.function {
                    Some(_) => VariableKind::StaticLocal,
                    None => VariableKind::Global,
                };
                self.declare(&item.ident, kind);
            }
            Item::Macro(definition) => {
                let inside = statements_in(definition.mac.tokens.clone());
                self.skip(SkipReason::MacroExpansion, inside);
            }
            _ => {}
        }
    }

    fn function(&mut self, signature: &Signature, block: &Block, span: Span) {
        let before = self.at;
        let id = self.functions.len();
        let (line, _) = self.position(self.range(signature.ident.span()).start);
        self.functions.push(Function {
            id,
            name: signature.ident.to_string(),
            line,
            span: self.range(span),
            body: self.range(block.span()),
            attributes: BTreeSet::new(),
            is_static: false,
            is_inline: false,
            is_variadic: false,
            is_old_style: false,
            returns: opaque(),
            parameters: Vec::new(),
            labels: Vec::new(),
            returns_twice_inside: false,
            has_restrict: false,
        });
        // names of the function around are not visible in an inner one
        self.at = Where {
            function: Some(id),
            closed: if signature.constness.is_some() {
                Some(SkipReason::ConstFunction)
            } else {
                signature
                    .asyncness
                    .is_some()
                    .then_some(SkipReason::AsyncFunction)
            },
            ..Where::default()
        };
        self.nested(|walker| {
            for input in &signature.inputs {
                match input {
                    FnArg::Receiver(receiver) => {
                        let own = syn::Ident::new("self", receiver.self_token.span());
                        walker.declare(&own, VariableKind::Param);
                    }
                    FnArg::Typed(typed) => walker.bind(&typed.pat, VariableKind::Param),
                }
            }
            walker.block(block);
        });
        self.at = before;
    }

    /// A new name in the present scope.
    fn declare(&mut self, ident: &syn::Ident, kind: VariableKind) {
        let id = self.variables.len();
        let offset = self.range(ident.span()).start;
        let (line, _) = self.position(offset);
        let name = ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
        let order = self.tick();
        let storage = match kind {
            VariableKind::Global | VariableKind::StaticLocal => Storage::Static,
            _ => Storage::None,
        };
        self.variables.push(Variable {
            id,
            name: name.clone(),
            line,
            debug_line: line,
            offset: Some(offset),
            kind,
            origin: Origin::Main,
            ty: opaque(),
            attributes: BTreeSet::new(),
            storage,
            is_thread_local: false,
            is_initialised: true,
            function: self.at.function,
        });
        let own = self.at.function;
        if let (VariableKind::Param, Some(function)) =
            (kind, own.and_then(|id| self.functions.get_mut(id)))
        {
            function.parameters.push(id);
        }
        if let Some(scope) = self.scopes.get_mut(self.at.scope) {
            scope.names.push(Name {
                name: Arc::from(name),
                order,
                variable: Some(id),
            });
        }
    }

    /// The names that a pattern binds.
    fn bind(&mut self, pattern: &Pat, kind: VariableKind) {
        let mut names = Bound(Vec::new());
        names.visit_pat(pattern);
        let mut known = BTreeSet::new();
        for name in names.0 {
            // the alternatives of an or-pattern bind the same names
            if known.insert(name.to_string()) {
                self.declare(&name, kind);
            }
        }
    }

    /// Notes what an expression may move away.
    fn moves(&mut self, look: impl FnOnce(&mut Moves<'_>)) {
        let known = self.known;
        let consuming = |name: &str| known.consuming.get(name).copied();
        let mut moves = Moves {
            consuming: &consuming,
            names: Vec::new(),
        };
        look(&mut moves);
        let names = moves.names;
        let order = self.tick();
        for name in names {
            if let Some(id) = self.lookup(&name) {
                self.moved.entry(id).or_insert(order);
            }
        }
    }

    fn lookup(&self, name: &str) -> Option<usize> {
        let mut scope = Some(self.at.scope);
        while let Some(current) = scope.and_then(|id| self.scopes.get(id)) {
            let found = current
                .names
                .iter()
                .rev()
                .find(|known| *known.name == *name);
            if let Some(found) = found {
                return found.variable;
            }
            scope = current.parent;
        }
        None
    }

    fn block(&mut self, block: &Block) {
        self.nested(|walker| {
            walker.at.depth += 1;
            walker.statements(&block.stmts);
        });
    }

    fn statements(&mut self, statements: &[Stmt]) {
        // `let x;`: a name that has no value before it is assigned
        let mut open: Vec<&Pat> = Vec::new();
        for statement in statements {
            if let Stmt::Item(item) = statement {
                let before = self.at;
                self.item(item);
                self.at = before;
                continue;
            }
            self.point(statement);
            match statement {
                Stmt::Local(local) => match &local.init {
                    Some(init) => {
                        self.moves(|moves| moves.visit_expr(&init.expr));
                        self.visit_expr(&init.expr);
                        if let Some((_, diverge)) = &init.diverge {
                            self.moves(|moves| moves.visit_expr(diverge));
                            self.visit_expr(diverge);
                        }
                        self.bind(&local.pat, VariableKind::Local);
                    }
                    None => open.push(&local.pat),
                },
                Stmt::Expr(expr, _) => {
                    self.moves(|moves| moves.visit_expr(expr));
                    self.visit_expr(expr);
                }
                Stmt::Macro(call) => {
                    self.moves(|moves| moves.visit_macro(&call.mac));
                    self.visit_macro(&call.mac);
                }
                Stmt::Item(_) => {}
            }
            if !open.is_empty() {
                let mut assigned = Assigned(Vec::new());
                assigned.visit_stmt(statement);
                open.retain(|pattern| {
                    let mut names = Bound(Vec::new());
                    names.visit_pat(pattern);
                    let now = names
                        .0
                        .iter()
                        .any(|name| assigned.0.iter().any(|a| name == a));
                    if now {
                        self.bind(pattern, VariableKind::Local);
                    }
                    !now
                });
            }
        }
    }

    fn point(&mut self, statement: &Stmt) {
        let Some(function) = self.at.function else {
            return;
        };
        let span = self.range(statement.span());
        if span.is_empty() {
            return; // a lone semicolon
        }
        if let Some(reason) = self.at.closed {
            self.skip(reason, 1);
            return;
        }
        let order = self.tick();
        let (line, column) = self.position(span.start);
        self.points.points.push(Point {
            id: self.points.points.len(),
            line,
            column,
            debug_line: line,
            debug_file: None,
            offset: span.start,
            function,
            statement: kind(statement),
            span,
            depth: self.at.depth,
            loop_depth: self.at.loop_depth,
            breakable_depth: self.at.loop_depth,
            in_statement_expression: false,
            scope: self.at.scope,
            order,
        });
    }

    fn looped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.nested(|walker| {
            walker.at.loop_depth += 1;
            walk(walker);
        });
    }

    fn closed(&mut self, reason: SkipReason, walk: impl FnOnce(&mut Self)) {
        let before = self.at.closed;
        self.at.closed = before.or(Some(reason));
        walk(self);
        self.at.closed = before;
    }

    /// A body that is not a block cannot take a statement.
    fn body(&mut self, body: &Expr) {
        match body {
            Expr::Block(_) | Expr::Unsafe(_) => {}
            _ => self.skip(SkipReason::UnbracedBody, 1),
        }
        self.visit_expr(body);
    }

    /// Walks a condition, and binds the names of its `let`s in the present scope.
    fn condition(&mut self, condition: &Expr) {
        match condition {
            Expr::Let(test) => {
                self.visit_expr(&test.expr);
                self.bind(&test.pat, VariableKind::Local);
            }
            Expr::Binary(both) => {
                self.condition(&both.left);
                self.condition(&both.right);
            }
            Expr::Paren(paren) => self.condition(&paren.expr),
            other => self.visit_expr(other),
        }
    }
}

impl<'ast> Visit<'ast> for Walker<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Block(block) => self.block(&block.block),
            Expr::Unsafe(block) => self.block(&block.block),
            Expr::TryBlock(block) => self.block(&block.block),
            Expr::Async(block) => {
                self.closed(SkipReason::AsyncFunction, |walker| {
                    walker.block(&block.block)
                });
            }
            Expr::Const(block) => {
                self.closed(SkipReason::ConstFunction, |walker| {
                    walker.block(&block.block)
                });
            }
            Expr::If(test) => {
                self.nested(|walker| {
                    walker.condition(&test.cond);
                    walker.block(&test.then_branch);
                });
                if let Some((_, otherwise)) = &test.else_branch {
                    self.visit_expr(otherwise);
                }
            }
            Expr::While(repeat) => self.looped(|walker| {
                walker.condition(&repeat.cond);
                walker.block(&repeat.body);
            }),
            Expr::Loop(repeat) => self.looped(|walker| walker.block(&repeat.body)),
            Expr::ForLoop(repeat) => {
                self.visit_expr(&repeat.expr);
                self.looped(|walker| {
                    walker.bind(&repeat.pat, VariableKind::Local);
                    walker.block(&repeat.body);
                });
            }
            Expr::Match(choice) => {
                self.visit_expr(&choice.expr);
                for arm in &choice.arms {
                    self.nested(|walker| {
                        walker.bind(&arm.pat, VariableKind::Local);
                        if let Some((_, guard)) = &arm.guard {
                            walker.condition(guard);
                        }
                        walker.body(&arm.body);
                    });
                }
            }
            Expr::Closure(closure) => {
                let walk = |walker: &mut Self| {
                    walker.nested(|walker| {
                        walker.at.loop_depth = 0;
                        for input in &closure.inputs {
                            walker.bind(input, VariableKind::Param);
                        }
                        walker.body(&closure.body);
                    });
                };
                match (&closure.asyncness, &closure.constness) {
                    (None, None) => walk(self),
                    (Some(_), _) => self.closed(SkipReason::AsyncFunction, walk),
                    (_, Some(_)) => self.closed(SkipReason::ConstFunction, walk),
                }
            }
            other => visit::visit_expr(self, other),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let inside = statements_in(call.tokens.clone());
        self.skip(SkipReason::MacroExpansion, inside);
    }

    // array lengths and the like are evaluated by the compiler
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

/// The names that a pattern binds. A capital first letter is a constant or variant by convention (and the compiler
/// warns where it is not).
struct Bound(Vec<syn::Ident>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let name = pattern.ident.to_string();
        if !name.starts_with(char::is_uppercase) {
            self.0.push(pattern.ident.clone());
        }
        if let Some((_, inner)) = &pattern.subpat {
            self.visit_pat(inner);
        }
    }
    fn visit_expr(&mut self, _: &'ast Expr) {}
}

/// How many statements stand in the braces of a macro's tokens.
fn statements_in(tokens: TokenStream) -> usize {
    fn count(tokens: TokenStream, in_braces: bool) -> usize {
        tokens
            .into_iter()
            .map(|token| match token {
                TokenTree::Punct(mark) if mark.as_char() == ';' => usize::from(in_braces),
                TokenTree::Group(group) => {
                    let braces = group.delimiter() == proc_macro2::Delimiter::Brace;
                    count(group.stream(), in_braces || braces)
                }
                _ => 0,
            })
            .sum()
    }
    count(tokens, false)
}

fn kind(statement: &Stmt) -> StatementKind {
    let expression = match statement {
        Stmt::Local(_) => return StatementKind::Declaration,
        Stmt::Item(_) => return StatementKind::Declaration,
        Stmt::Macro(_) => return StatementKind::Expression(ExpressionKind::Call),
        Stmt::Expr(expression, _) => expression,
    };
    match expression {
        Expr::If(_) => StatementKind::If,
        Expr::ForLoop(_) => StatementKind::For,
        Expr::While(_) => StatementKind::While,
        Expr::Loop(_) => StatementKind::Loop,
        Expr::Match(_) => StatementKind::Match,
        Expr::Return(_) => StatementKind::Return,
        Expr::Break(_) => StatementKind::Break,
        Expr::Continue(_) => StatementKind::Continue,
        Expr::Block(_) | Expr::Unsafe(_) => StatementKind::Compound,
        Expr::Assign(_) => StatementKind::Expression(ExpressionKind::Assignment),
        Expr::Binary(binary) if is_assignment(&binary.op) => {
            StatementKind::Expression(ExpressionKind::Assignment)
        }
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Macro(_) => {
            StatementKind::Expression(ExpressionKind::Call)
        }
        _ => StatementKind::Expression(ExpressionKind::Other),
    }
}

/// syn knows no types.
fn opaque() -> Arc<Type> {
    Arc::new(Type {
        spelling: String::new(),
        qualifiers: Qualifiers::default(),
        size: None,
        system: false,
        shape: Shape::Other,
    })
}

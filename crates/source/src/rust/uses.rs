//! How an expression uses the names in it: whether it may move a value away. syn knows no types, so this errs on the
//! side of a move: a name that is wrongly taken for moved is not compared, one that is wrongly taken for whole would be
//! a false alarm.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, Macro};

/// Macros that only look at their arguments.
const LOOKING: &[&str] = &[
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "write",
    "writeln",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "todo",
    "unimplemented",
    "matches",
];

/// Methods of the standard library that take their receiver by reference, whatever its type.
const BORROWING: &[&str] = &[
    "as_bytes",
    "as_mut",
    "as_mut_slice",
    "as_ptr",
    "as_ref",
    "as_slice",
    "as_str",
    "binary_search",
    "borrow",
    "borrow_mut",
    "bytes",
    "capacity",
    "char_indices",
    "chars",
    "chunks",
    "chunks_exact",
    "clear",
    "clone",
    "contains",
    "contains_key",
    "copy_from_slice",
    "count_ones",
    "dedup",
    "drain",
    "ends_with",
    "entry",
    "extend",
    "extend_from_slice",
    "fill",
    "first",
    "fmt",
    "get",
    "get_mut",
    "hash",
    "insert",
    "is_empty",
    "is_err",
    "is_none",
    "is_ok",
    "is_some",
    "iter",
    "iter_mut",
    "keys",
    "last_mut",
    "len",
    "lines",
    "next",
    "parse",
    "peek",
    "pop",
    "pop_back",
    "pop_front",
    "position",
    "push",
    "push_back",
    "push_front",
    "push_str",
    "remove",
    "repeat",
    "replace",
    "reserve",
    "resize",
    "retain",
    "reverse",
    "sort",
    "sort_by",
    "sort_by_key",
    "sort_unstable",
    "split",
    "split_at",
    "split_whitespace",
    "starts_with",
    "swap",
    "swap_remove",
    "to_owned",
    "to_string",
    "to_uppercase",
    "to_lowercase",
    "to_vec",
    "trim",
    "truncate",
    "values",
    "windows",
];

/// Finds the names whose value an expression may move.
pub(super) struct Moves<'a> {
    /// Methods of the program itself that take `self` by value.
    pub(super) consuming: &'a dyn Fn(&str) -> Option<bool>,
    /// The names, in the order met.
    pub(super) names: Vec<String>,
}

impl Moves<'_> {
    /// A use of `expr` by value.
    fn value(&mut self, expr: &Expr) {
        match expr {
            Expr::Path(path) => {
                if let Some(name) = path.path.get_ident() {
                    self.names.push(name.to_string());
                }
            }
            // part of a value moves: what is left is no longer whole
            Expr::Field(field) => self.value(&field.base),
            Expr::Paren(paren) => self.value(&paren.expr),
            Expr::Group(group) => self.value(&group.expr),
            Expr::Cast(cast) => self.value(&cast.expr),
            other => self.visit_expr(other),
        }
    }

    /// A use of `expr` as a place: nothing moves out of it.
    fn place(&mut self, expr: &Expr) {
        match expr {
            Expr::Path(_) => {}
            Expr::Field(field) => self.place(&field.base),
            Expr::Paren(paren) => self.place(&paren.expr),
            Expr::Group(group) => self.place(&group.expr),
            Expr::Index(index) => {
                self.place(&index.expr);
                self.value(&index.index);
            }
            other => self.visit_expr(other),
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => self.names.push(name.to_string()),
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Moves<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Path(_) | Expr::Field(_) | Expr::Cast(_) => self.value(expr),
            Expr::Reference(reference) => self.place(&reference.expr),
            Expr::RawAddr(reference) => self.place(&reference.expr),
            Expr::Index(_) => self.place(expr),
            Expr::Unary(unary) => match unary.op {
                syn::UnOp::Deref(_) => self.place(&unary.expr),
                _ => self.value(&unary.expr),
            },
            Expr::Assign(assign) => {
                self.place(&assign.left);
                self.value(&assign.right);
            }
            Expr::Binary(binary) => {
                use syn::BinOp::{Eq, Ge, Gt, Le, Lt, Ne};
                let compares = matches!(binary.op, Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_));
                if compares {
                    self.place(&binary.left);
                    self.place(&binary.right);
                } else {
                    if is_assignment(&binary.op) {
                        self.place(&binary.left);
                    } else {
                        self.value(&binary.left);
                    }
                    self.value(&binary.right);
                }
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let consumes =
                    (self.consuming)(&name).unwrap_or_else(|| !BORROWING.contains(&name.as_str()));
                if consumes {
                    self.value(&call.receiver);
                } else {
                    self.place(&call.receiver);
                }
                call.args.iter().for_each(|argument| self.value(argument));
            }
            Expr::Call(call) => {
                self.place(&call.func);
                call.args.iter().for_each(|argument| self.value(argument));
            }
            Expr::Closure(closure) if closure.capture.is_some() => {
                // everything named in it moves into it
                let mut all = AllNames(Vec::new());
                all.visit_expr(&closure.body);
                self.names.append(&mut all.0);
            }
            other => visit::visit_expr(self, other),
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let looking = call.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            LOOKING.contains(&name.as_str())
        });
        if !looking {
            self.tokens(call.tokens.clone());
        }
    }

    // blocks and nested functions are walked statement by statement by whoever asks
    fn visit_block(&mut self, _: &'ast syn::Block) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// Every single-word path and every word in a macro call.
struct AllNames(Vec<String>);

impl<'ast> Visit<'ast> for AllNames {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let Some(name) = path.path.get_ident() {
            self.0.push(name.to_string());
        }
    }
    fn visit_macro(&mut self, call: &'ast Macro) {
        let mut open = vec![call.tokens.clone()];
        while let Some(tokens) = open.pop() {
            for token in tokens {
                match token {
                    TokenTree::Ident(name) => self.0.push(name.to_string()),
                    TokenTree::Group(group) => open.push(group.stream()),
                    _ => {}
                }
            }
        }
    }
}

/// The names that are assigned as a whole anywhere in a statement.
pub(super) struct Assigned(pub(super) Vec<String>);

impl<'ast> Visit<'ast> for Assigned {
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        if let Expr::Path(path) = &*assign.left
            && let Some(name) = path.path.get_ident()
        {
            self.0.push(name.to_string());
        }
        visit::visit_expr_assign(self, assign);
    }
}

pub(super) fn is_assignment(op: &syn::BinOp) -> bool {
    use syn::BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

//! What one parse of a C or Rust file found: functions, variables, scopes and points.
//!
//! A [`Unit`] is plain data. Points are in source order, and so are their ids: a seed that picks ids picks
//! the same places on every machine with the same headers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::types::Type;

/// A parsed C or Rust file.
#[derive(Debug)]
pub struct Unit {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) points: Points,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) language: Language,
    /// Static variables that nothing reads, by number (C).
    pub(crate) never_read: HashSet<usize>,
    pub(crate) any_exit_status: bool,
}

/// The language of a unit, and what only makes sense in it.
#[derive(Debug)]
pub(crate) enum Language {
    C,
    Rust(RustFacts),
}

/// What is particular to a Rust file.
#[derive(Debug)]
pub(crate) struct RustFacts {
    /// By variable: the position in the walk from which on it may have been moved away.
    pub moved: HashMap<usize, u32>,
    /// Variables that share name, line and function with another: no debugger can tell them apart.
    pub ambiguous: HashSet<usize>,
    /// Names of the file's own types that are `Copy`.
    pub copy_types: BTreeSet<String>,
    pub has_unsafe: bool,
}

/// A block of names; number 0 is the file.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub parent: Option<usize>,
    /// In declaration order.
    pub names: Vec<Name>,
}

/// An ordinary identifier a block declares. Enumerators, typedefs and functions hide variables too.
#[derive(Debug)]
pub(crate) struct Name {
    pub name: Arc<str>,
    /// Position in the walk: a name is visible at the points that come later.
    pub order: u32,
    /// Index into [`Unit::variables`] when it is a variable.
    pub variable: Option<usize>,
}

/// Names of the attributes of a declaration, without underscores (`const`, `cleanup`), `asm` for an assembler
/// name or register. Those of earlier declarations of the same thing are included.
pub type Attributes = BTreeSet<String>;

/// A function defined in the main file.
#[derive(Debug, Clone)]
pub struct Function {
    /// Index into [`Unit::functions`].
    pub id: usize,
    /// Its name.
    pub name: String,
    /// 1-based physical line of its name.
    pub line: u32,
    /// The whole definition.
    pub span: Range<usize>,
    /// The body, braces included.
    pub body: Range<usize>,
    /// See [`Attributes`].
    pub attributes: Attributes,
    /// `static`
    pub is_static: bool,
    /// `inline`
    pub is_inline: bool,
    /// `...`
    pub is_variadic: bool,
    /// An old-style definition: `int f(a) int a; { }`.
    pub is_old_style: bool,
    /// The type it returns.
    pub returns: Arc<Type>,
    /// Indices into [`Unit::variables`]; unnamed parameters are left out.
    pub parameters: Vec<usize>,
    /// Labels that a `goto` anywhere in it can name.
    pub labels: Vec<String>,
    /// Names `setjmp`, `vfork` or another function that returns twice: what is in registers there is fragile.
    pub returns_twice_inside: bool,
    /// Declares a restrict-qualified pointer (parameter or local, at any level).
    pub has_restrict: bool,
}

impl Function {
    /// Carries `const` or `pure`: the compiler may merge or drop its calls, and with them what is inserted.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.attributes.contains("const") || self.attributes.contains("pure")
    }

    /// Carries `naked`: nothing but assembler may stand in it.
    #[must_use]
    pub fn is_naked(&self) -> bool {
        self.attributes.contains("naked")
    }
}

/// A declared object.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Index into [`Unit::variables`].
    pub id: usize,
    /// Its name.
    pub name: String,
    /// 1-based physical line of its name, in the file that declares it.
    pub line: u32,
    /// The line debug information gives: the same but for `#line`.
    pub debug_line: u32,
    /// Byte offset of its name; `None` when it is not written out in the main file (header, macro).
    pub offset: Option<usize>,
    /// What it is.
    pub kind: VariableKind,
    /// Who declares it.
    pub origin: Origin,
    /// Its type; of a parameter, after arrays became pointers.
    pub ty: Arc<Type>,
    /// See [`Attributes`].
    pub attributes: Attributes,
    /// The storage class written.
    pub storage: Storage,
    /// `_Thread_local` or `__thread`
    pub is_thread_local: bool,
    /// Declared with an initialiser.
    pub is_initialised: bool,
    /// The function that declares it, for all but globals: index into [`Unit::functions`].
    pub function: Option<usize>,
}

/// Where an object lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum VariableKind {
    /// Declared at file scope, or by `extern` in a block.
    Global,
    /// `static` in a function.
    StaticLocal,
    /// Automatic.
    Local,
    /// A parameter.
    Param,
}

/// Which file declares an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// The user's file (macro expansions included).
    Main,
    /// A file it includes.
    Included,
    /// A system header.
    System,
}

/// The storage class as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Storage {
    None,
    Auto,
    Register,
    Static,
    Extern,
}

/// The points of a unit, and what was passed over.
#[derive(Debug, Default)]
pub struct Points {
    /// In source order; the index of a point is its id.
    pub points: Vec<Point>,
    /// How many statements could not be points, by reason.
    pub skipped: BTreeMap<SkipReason, usize>,
}

/// A place before a statement, inside a block, where a statement can be inserted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Index into [`Points::points`].
    pub id: usize,
    /// 1-based physical line in the main file.
    pub line: u32,
    /// 1-based column, in bytes.
    pub column: u32,
    /// The line debug information gives: the same but for `#line`.
    pub debug_line: u32,
    /// The file debug information gives, when `#line` names another than the main file.
    pub debug_file: Option<String>,
    /// Byte offset in [`Unit::text`]: insert here.
    pub offset: usize,
    /// Index into [`Unit::functions`].
    pub function: usize,
    /// The statement that follows the point.
    pub statement: StatementKind,
    /// That statement, its semicolon included where it is written right behind it.
    pub span: Range<usize>,
    /// Blocks around it; 1 directly in the function's body.
    pub depth: u32,
    /// Loops around it.
    pub loop_depth: u32,
    /// Loops and switches around it: a `break` is allowed when not 0.
    pub breakable_depth: u32,
    /// Inside a `({ })`.
    pub in_statement_expression: bool,
    #[serde(skip)]
    pub(crate) scope: usize,
    #[serde(skip)]
    pub(crate) order: u32,
}

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum StatementKind {
    If,
    For,
    While,
    Do,
    Switch,
    Return,
    Goto,
    Break,
    Continue,
    Expression(ExpressionKind),
    Declaration,
    Compound,
    Null,
    Asm,
    /// Rust's `loop`.
    Loop,
    /// Rust's `match`.
    Match,
}

/// What the outermost operator of an expression statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ExpressionKind {
    /// `=`, `+=`, ..., `++`, `--`
    Assignment,
    /// A call.
    Call,
    /// Anything else.
    Other,
}

/// Why there is no point before a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SkipReason {
    /// It comes out of a macro with other statements, or is written in a macro's argument. A macro that is the beginning
    /// of one statement, or all of it, is as good as what it stands for.
    MacroExpansion,
    /// It is in a file included inside the function, or (counted once each) it is a function of an included
    /// file that is not a system header.
    IncludedFile,
    /// It has a label: what stands before the label is not run by the jump.
    LabelledStatement,
    /// It has a `case` or `default`.
    CaseStatement,
    /// A declaration, in C89 where statements may not precede it.
    Declaration,
    /// `__label__`, which must come first in its block.
    LocalLabel,
    /// The body of an `if`, `else` or loop without braces.
    UnbracedBody,
    /// The last statement of a `({ })`: its value.
    StatementExpressionEnd,
    /// Between `switch (x) {` and the first `case`.
    UnreachableInSwitch,
    /// Right behind a `#pragma`, which may be about this very statement.
    Pragma,
    /// Behind an attribute or `__extension__` that belongs to it.
    Attribute,
    /// In a function with attribute `const` or `pure`, whose calls compilers may merge.
    PureFunction,
    /// In a function with attribute `naked`.
    NakedFunction,
    /// In a `const fn` or `const` block of Rust, which the compiler may run itself.
    ConstFunction,
    /// In an `async` function or block of Rust, whose variables live in a state machine.
    AsyncFunction,
}

impl Unit {
    /// The file it was parsed from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text all offsets mean: the file's, with bytes that are not UTF-8 made harmless (see [`crate::text`]).
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Functions defined in the main file, in order.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Every variable seen: of the main file's functions, and of file scope wherever declared.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Where statements can be inserted.
    #[must_use]
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The variables a statement inserted at `point` can name: declared before it and not hidden by another
    /// declaration of the same name. Innermost scope first, in order of declaration within a scope.
    #[must_use]
    pub fn visible_at(&self, point: &Point) -> Vec<&Variable> {
        let mut seen = HashSet::new();
        let mut visible = Vec::new();
        let mut scope = Some(point.scope);
        while let Some(current) = scope.and_then(|id| self.scopes.get(id)) {
            let start = visible.len();
            // Backwards, so that the latest declaration of a name wins within its scope, too.
            for name in current
                .names
                .iter()
                .rev()
                .filter(|name| name.order < point.order)
            {
                if seen.insert(&*name.name) {
                    visible.extend(name.variable.and_then(|id| self.variables.get(id)));
                }
            }
            visible[start..].reverse();
            scope = current.parent;
        }
        visible
    }

    /// Whether it is a Rust file.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        matches!(self.language, Language::Rust(_))
    }

    /// Whether it is a Rust file with `unsafe` code.
    #[must_use]
    pub fn has_unsafe(&self) -> bool {
        matches!(&self.language, Language::Rust(facts) if facts.has_unsafe)
    }

    /// Whether a variable certainly has all of its value at `point`, if its type is not `Copy`: in Rust a use by value
    /// moves it away, and what its memory holds then means nothing. Always so in C.
    #[must_use]
    pub fn is_whole(&self, point: &Point, variable: &Variable) -> bool {
        match &self.language {
            Language::C => true,
            Language::Rust(facts) => facts
                .moved
                .get(&variable.id)
                .is_none_or(|order| point.order < *order),
        }
    }

    /// Whether a variable can be told from every other by its name, line and function.
    #[must_use]
    pub fn is_distinct(&self, variable: &Variable) -> bool {
        match &self.language {
            Language::C => true,
            Language::Rust(facts) => !facts.ambiguous.contains(&variable.id),
        }
    }

    /// Whether the exit status of the program means nothing (C): `main` returns void, or may reach its end in C of before
    /// 1999.
    #[must_use]
    pub fn has_any_exit_status(&self) -> bool {
        self.any_exit_status
    }

    /// Whether the program ever reads the variable called `name` that is declared at `decl_line` (of debug information).
    /// False only for static variables of C.
    #[must_use]
    pub fn is_ever_read(&self, name: &str, decl_line: u32) -> bool {
        let is_it = |id: &usize| {
            let variable = self.variables.get(*id);
            variable.is_some_and(|it| it.name == name && it.debug_line == decl_line)
        };
        !self.never_read.iter().any(is_it)
    }

    /// Whether a type of the file is `Copy`, by its plain name.
    #[must_use]
    pub fn is_copy_type(&self, name: &str) -> bool {
        matches!(&self.language, Language::Rust(facts) if facts.copy_types.contains(name))
    }

    /// The objects of file scope, each once (its last declaration), in order.
    #[must_use]
    pub fn globals(&self) -> Vec<&Variable> {
        let mut seen = HashSet::new();
        let names = self.scopes.first().map_or(&[][..], |file| &file.names);
        let mut globals: Vec<&Variable> = names
            .iter()
            .rev()
            .filter(|name| seen.insert(&*name.name))
            .filter_map(|name| self.variables.get(name.variable?))
            .collect();
        globals.reverse();
        globals
    }

    /// The points whose physical line is `line`, in order.
    pub fn points_on(&self, line: u32) -> impl Iterator<Item = &Point> {
        self.points
            .points
            .iter()
            .filter(move |point| point.line == line)
    }
}

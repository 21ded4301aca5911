//! What inserted code must leave alone.
//!
//! Every rule here was paid for with a wrong variant (see the design notes of `mutate`); each can be switched off by
//! tests, which show that the rule, and nothing else, keeps the object or place out. Rules about *places* that the
//! source crate already keeps (no point in `const`/`pure`/`naked` functions, before labels, `case`, `__label__`, or at
//! the end of a statement expression) are tested here as well, since variants depend on them. Bit-fields wider than
//! `int` are read through a cast: see [`crate::integer::Scalar::needs_cast`].

use std::collections::BTreeSet;

use candor_source::{Function, Origin, Storage, Type, Unit, Variable, VariableKind};

/// One thing that inserted code leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Members of unions, read or written: a write changes the other members, and bytes beyond the initialised
    /// member are garbage with some compilers.
    Unions,
    /// Volatile at any level: every access is observable.
    Volatile,
    /// Atomic at any level: an access is not a plain one.
    Atomic,
    /// Const at any level is read, never written.
    Const,
    /// `va_list`, `jmp_buf`, `FILE`, every record of a system header: compilers assume to know who touches them.
    Opaque,
    /// Objects with attributes that give them another name, place or life (`alias`, `weak`, `section`, `cleanup`,
    /// registers): only harmless attributes are allowed.
    Attributes,
    /// Where a restrict-qualified pointer is in scope, no object that it could point to.
    Restrict,
    /// Functions that call `setjmp` or `vfork`: locals changed in between are indeterminate.
    ReturnsTwice,
    /// Names that a macro of the file also has: the text would not mean the object.
    Macros,
    /// Objects of headers, thread-local ones, arrays in registers.
    Foreign,
}

impl Rule {
    /// All rules.
    #[cfg(test)]
    pub const ALL: [Self; 10] = [
        Self::Unions,
        Self::Volatile,
        Self::Atomic,
        Self::Const,
        Self::Opaque,
        Self::Attributes,
        Self::Restrict,
        Self::ReturnsTwice,
        Self::Macros,
        Self::Foreign,
    ];
}

/// The rules in force: all, but for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    off: Option<Rule>,
}

impl Rules {
    /// All but `rule`.
    #[cfg(test)]
    pub fn without(rule: Rule) -> Self {
        Self { off: Some(rule) }
    }

    /// Whether `rule` is in force.
    pub fn keep(self, rule: Rule) -> bool {
        self.off != Some(rule)
    }
}

/// Attributes of objects that change neither what a name means nor where the object lives.
const HARMLESS: [&str; 7] = [
    "aligned",
    "unused",
    "used",
    "maybe_unused",
    "deprecated",
    "visibility",
    "packed",
];

/// What the rules need to know of a whole file, found once.
#[derive(Debug)]
pub struct Facts {
    /// Names of macros the file defines.
    macros: BTreeSet<String>,
    /// `restrict` is written outside of functions: any pointer may be one.
    restrict_at_file_scope: bool,
    /// A beginning of names that occurs nowhere in the file.
    pub prefix: String,
}

impl Facts {
    /// Reads them off the text.
    pub fn of(unit: &Unit) -> Self {
        let text = unit.text();
        let macros = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix('#'))
            .filter_map(|line| line.trim_start().strip_prefix("define"))
            .filter_map(|rest| words(rest).next())
            .map(str::to_owned)
            .collect();
        let mut outside = String::new();
        let mut done = 0;
        for function in unit.functions() {
            outside.push_str(text.get(done..function.span.start).unwrap_or_default());
            done = function.span.end.max(done);
        }
        outside.push_str(text.get(done..).unwrap_or_default());
        let prefix = (0..)
            .map(|number| match number {
                0 => "candor_".to_owned(),
                _ => format!("candor{number}_"),
            })
            .find(|prefix| !text.contains(prefix.as_str()))
            .unwrap_or_default();
        Self {
            macros,
            restrict_at_file_scope: words(&outside).any(is_restrict),
            prefix,
        }
    }

    /// A C keyword that the file makes a macro: then no inserted text means what it says.
    pub fn redefined_keyword(&self) -> Option<&str> {
        const USED: [&str; 22] = [
            "if", "else", "while", "for", "do", "switch", "case", "default", "break", "continue",
            "return", "goto", "int", "char", "short", "long", "signed", "unsigned", "_Bool",
            "extern", "void", "const",
        ];
        USED.into_iter().find(|word| self.macros.contains(*word))
    }

    /// Whether a macro of the file has this name.
    pub fn is_macro(&self, name: &str) -> bool {
        self.macros.contains(name)
    }
}

fn is_restrict(word: &str) -> bool {
    matches!(word, "restrict" | "__restrict" | "__restrict__")
}

/// The identifiers and keywords of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Whether code may be put into `function` at all.
pub fn allows_function(function: &Function, rules: Rules) -> bool {
    !(function.returns_twice_inside && rules.keep(Rule::ReturnsTwice))
}

/// Whether `variable`, visible in `function`, may be named by code that runs.
pub fn allows_object(
    unit: &Unit,
    facts: &Facts,
    function: &Function,
    variable: &Variable,
    rules: Rules,
) -> bool {
    // An element of a register array cannot be named: indexing takes an address.
    let unnameable = variable.storage == Storage::Register && variable.ty.integer().is_none();
    let foreign = variable.origin != Origin::Main || variable.is_thread_local || unnameable;
    let attributed = variable
        .attributes
        .iter()
        .any(|name| !HARMLESS.contains(&name.as_str()));
    let restricted = (function.has_restrict || facts.restrict_at_file_scope)
        && could_be_pointed_to(unit, function, variable);
    !(foreign && rules.keep(Rule::Foreign)
        || attributed && rules.keep(Rule::Attributes)
        || restricted && rules.keep(Rule::Restrict)
        || facts.is_macro(&variable.name) && rules.keep(Rule::Macros))
}

/// All but scalar locals whose address the function never takes.
fn could_be_pointed_to(unit: &Unit, function: &Function, variable: &Variable) -> bool {
    let automatic = matches!(variable.kind, VariableKind::Local | VariableKind::Param);
    if !automatic || variable.ty.integer().is_none() {
        return true;
    }
    let body = unit.text().get(function.body.clone()).unwrap_or_default();
    body.split('&').skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        words(rest).next() == Some(variable.name.as_str())
    })
}

/// Whether the inside of an object of this type may be looked into.
pub fn allows_type(ty: &Type, rules: Rules) -> bool {
    let opaque = ty.system && ty.integer().is_none();
    !(ty.qualifiers.is_volatile && rules.keep(Rule::Volatile)
        || ty.qualifiers.is_atomic && rules.keep(Rule::Atomic)
        || opaque && rules.keep(Rule::Opaque))
}

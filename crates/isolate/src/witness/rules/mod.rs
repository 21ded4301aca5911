//! Mutation rules: small changes that may flip a failing program to a passing one (paper 003, §4.1, Table 1).
//!
//! A rule is one operation on one sort of place ("replace < by <=" and "replace < by >" are two rules);
//! the table below lists them all, each with an example that is its test. The paper counts 132 without
//! saying how many are in each category; ours, by category, are in `docs/isolate.md`. Rules do not know
//! types: what does not compile or has undefined behaviour is thrown away by the judge.

mod constant;
mod operator;
mod reduction;
mod variable;

use std::ops::Range;

use serde::Serialize;

use super::protect::Protected;
use super::tokens::{Token, tokens};

pub use constant::Change;
pub use operator::Unary;

/// What a rule is about: the paper's three, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Qualifiers, modifiers, and which variable is named.
    Variable,
    /// Binary and unary operators.
    Operator,
    /// Integer constants.
    Constant,
    /// Statements left out, as a reducer does; not in the paper.
    Reduction,
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `int x` → `volatile int x`.
    InsertQualifier(&'static str),
    /// `const int x` → `int x`.
    RemoveQualifier(&'static str),
    /// `int x` → `unsigned int x`.
    InsertModifier(&'static str),
    /// `unsigned int x` → `int x`.
    RemoveModifier(&'static str),
    /// `short x` → `long x`.
    ReplaceModifier(&'static str, &'static str),
    /// `a + b` → `a + c`.
    ReplaceVariable,
    /// `a + b` → `a - b`.
    ReplaceBinary(&'static str, &'static str),
    /// `++x` → `x--`.
    ReplaceUnary(Unary, Unary),
    /// `!x` → `x`.
    RemoveUnary(Unary),
    /// `3` → `4`.
    ChangeConstant(Change),
    /// `x = 1; y = 2;` → `y = 2;`.
    RemoveStatement,
}

/// One way to apply a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Range<usize>,
    /// By what.
    pub text: String,
}

/// A program as the rules see it.
pub struct Subject<'t> {
    /// Its text.
    pub text: &'t str,
    /// Its tokens.
    pub tokens: Vec<Token<'t>>,
    /// What must stay.
    pub protected: Protected,
    /// Names of variables, each with the span of text in which it can be named.
    pub variables: Vec<(String, Range<usize>)>,
    /// Statements that can be left out.
    pub statements: Vec<Range<usize>>,
}

impl<'t> Subject<'t> {
    /// Looks at a text. `runs`: whether the program's behaviour is what is judged.
    pub fn new(text: &'t str, runs: bool) -> Self {
        let tokens = tokens(text);
        let protected = match runs {
            true => Protected::of(&tokens),
            false => Protected::nothing(),
        };
        Subject {
            variables: variable::declared(&tokens, text.len()),
            statements: reduction::statements(&tokens),
            text,
            tokens,
            protected,
        }
    }

    /// The text with an edit.
    pub fn edited(&self, edit: &Edit) -> String {
        let before = self.text.get(..edit.span.start).unwrap_or_default();
        let after = self.text.get(edit.span.end..).unwrap_or_default();
        format!("{before}{}{after}", edit.text)
    }
}

impl Rule {
    /// Its category.
    pub fn category(self) -> Category {
        match self {
            Rule::InsertQualifier(_)
            | Rule::RemoveQualifier(_)
            | Rule::InsertModifier(_)
            | Rule::RemoveModifier(_)
            | Rule::ReplaceModifier(..)
            | Rule::ReplaceVariable => Category::Variable,
            Rule::ReplaceBinary(..) | Rule::ReplaceUnary(..) | Rule::RemoveUnary(_) => {
                Category::Operator
            }
            Rule::ChangeConstant(_) => Category::Constant,
            Rule::RemoveStatement => Category::Reduction,
        }
    }

    /// All ways to apply it, in the order of the text; protected places are left out.
    pub fn edits(self, subject: &Subject<'_>) -> Vec<Edit> {
        let mut edits = match self.category() {
            Category::Variable => variable::edits(self, subject),
            Category::Operator => operator::edits(self, subject),
            Category::Constant => constant::edits(self, subject),
            Category::Reduction => reduction::edits(subject),
        };
        edits.retain(|edit| {
            let inside = edit.span.start..edit.span.end.max(edit.span.start + 1);
            !inside.into_iter().any(|at| subject.protected.contains(at))
        });
        edits
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rule::InsertQualifier(word) | Rule::InsertModifier(word) => write!(f, "insert {word}"),
            Rule::RemoveQualifier(word) | Rule::RemoveModifier(word) => write!(f, "remove {word}"),
            Rule::ReplaceModifier(from, to) | Rule::ReplaceBinary(from, to) => {
                write!(f, "replace {from} by {to}")
            }
            Rule::ReplaceVariable => f.write_str("replace a variable"),
            Rule::ReplaceUnary(from, to) => write!(f, "replace {from} by {to}"),
            Rule::RemoveUnary(operator) => write!(f, "remove {operator}"),
            Rule::ChangeConstant(change) => write!(f, "constant {change}"),
            Rule::RemoveStatement => f.write_str("remove a statement"),
        }
    }
}

/// Every rule.
pub fn all() -> Vec<Rule> {
    let mut rules = variable::rules();
    rules.extend(operator::rules());
    rules.extend(constant::rules());
    rules.push(Rule::RemoveStatement);
    rules
}

/// Every rule with a program it applies to and one of the programs it makes of it.
pub fn examples() -> Vec<(Rule, String, String)> {
    let mut examples = variable::examples();
    examples.extend(operator::examples());
    examples.extend(constant::examples());
    examples.push((
        Rule::RemoveStatement,
        "void f(void) { x = 1; y = 2; }".into(),
        "void f(void) {  y = 2; }".into(),
    ));
    examples
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn every_rule_has_an_example_that_it_makes() {
        let examples = examples();
        let shown: BTreeSet<Rule> = examples.iter().map(|(rule, ..)| *rule).collect();
        assert_eq!(shown, all().into_iter().collect::<BTreeSet<_>>());
        for (rule, before, after) in examples {
            let subject = Subject::new(&before, true);
            let made: Vec<String> = rule
                .edits(&subject)
                .iter()
                .map(|edit| subject.edited(edit))
                .collect();
            assert!(
                made.contains(&after),
                "{rule}: {before} gives {made:?}, not {after}"
            );
        }
    }

    #[test]
    fn rules_are_counted_by_category() {
        let mut counts: BTreeMap<Category, usize> = BTreeMap::new();
        for rule in all() {
            *counts.entry(rule.category()).or_default() += 1;
        }
        let expected = [
            (Category::Variable, 27),
            (Category::Operator, 107),
            (Category::Constant, 4),
            (Category::Reduction, 1),
        ];
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
        let distinct: BTreeSet<Rule> = all().into_iter().collect();
        assert_eq!(distinct.len(), all().len());
    }

    #[test]
    fn no_rule_touches_what_tells() {
        let text = "int a; int main(void) { if (a != 3) __builtin_abort(); printf(\"%d\", a + 1); return a - 1; }";
        let subject = Subject::new(text, true);
        for rule in all() {
            for edit in rule.edits(&subject) {
                assert!(
                    edit.span.start < text.find("if").unwrap(),
                    "{rule} at {:?}",
                    edit.span
                );
            }
        }
    }
}

//! Code that never runs: bodies behind false predicates and in unexecuted regions.
//!
//! Such code needs to compile and nothing more, so it uses the grammar broadly: assignments, loops, nested ifs, switches,
//! arrays, pointers in scope, calls of functions of the file, jumps. Everything is spelled on one line.

use std::collections::HashSet;

use candor_source::{ArrayLength, Function, Point, Shape, Type, Variable};

use crate::expression::constant;
use crate::integer::{Binary, Unary, literal};
use crate::place::{Place, Survey};

/// Objects of each kind that one body chooses from.
const OBJECTS: usize = 14;
/// Nesting of statements.
const DEEPEST: u32 = 3;

/// What a body at a point can use.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    integers: Vec<Place>,
    /// Arrays of integers: name, length, assignable.
    arrays: Vec<(String, u64, bool)>,
    /// Pointers to integers: name, the pointer is assignable, the pointee is.
    pointers: Vec<(String, bool, bool)>,
    /// Calls with `\u{1}` where an integer argument goes.
    calls: Vec<String>,
    labels: Vec<String>,
    can_break: bool,
    can_continue: bool,
    /// `return`, with `\u{1}` where its integer goes; `None` where none may stand.
    ret: Option<&'static str>,
    prefix: String,
}

/// Stands for an integer expression in a template.
const HOLE: char = '\u{1}';

impl Surroundings {
    /// Looks around at `point`.
    pub fn at(survey: &Survey<'_>, point: &Point, random: &mut fastrand::Rng) -> Self {
        let mut found = Self {
            prefix: survey.facts.prefix.clone(),
            ..Self::default()
        };
        // Asked once: a file has hundreds of names.
        let all = survey.unit.visible_at(point);
        let hidden: HashSet<&str> = all.iter().map(|variable| variable.name.as_str()).collect();
        let mut visible = survey.allowed(point, all.clone());
        found.integers = survey.places_in(&visible, OBJECTS, random);
        random.shuffle(&mut visible);
        for variable in &visible {
            found.add_aggregate(variable);
        }
        found.arrays.truncate(OBJECTS);
        found.pointers.truncate(OBJECTS);
        let Some(function) = survey.function(point) else {
            return found;
        };
        if !point.in_statement_expression {
            found.can_break = point.breakable_depth > 0;
            found.can_continue = point.loop_depth > 0;
            found.ret = return_template(&function.returns);
            if may_jump(survey, function) {
                found.labels.clone_from(&function.labels);
            }
        }
        let mut callable: Vec<&Function> = survey
            .unit
            .functions()
            .iter()
            .filter(|callee| callee.span.end <= point.offset || callee.id == function.id)
            .filter(|callee| {
                !hidden.contains(callee.name.as_str()) && !survey.facts.is_macro(&callee.name)
            })
            .collect();
        random.shuffle(&mut callable);
        found.calls = callable
            .into_iter()
            .filter_map(|callee| call_template(survey, callee))
            .take(OBJECTS)
            .collect();
        found
    }

    fn add_aggregate(&mut self, variable: &Variable) {
        let ty = &variable.ty;
        if ty.has_volatile() || ty.has_atomic() || ty.is_opaque() {
            return;
        }
        match &ty.shape {
            Shape::Array {
                element,
                length: ArrayLength::Constant(length @ 1..),
            } if element.integer().is_some_and(|integer| integer.bits <= 64) => {
                let assignable = !ty.has_const();
                self.arrays
                    .push((variable.name.clone(), *length, assignable));
            }
            Shape::Pointer(pointee)
                if !pointee.is_function
                    && !pointee.qualifiers.is_volatile
                    && !pointee.qualifiers.is_atomic
                    && names_integer(&pointee.spelling) =>
            {
                self.pointers.push((
                    variable.name.clone(),
                    !ty.qualifiers.is_const,
                    !pointee.qualifiers.is_const,
                ));
            }
            _ => {}
        }
    }

    /// A block of statements, braces included.
    pub fn block(&self, random: &mut fastrand::Rng) -> String {
        Writer {
            around: self,
            random,
            locals: 0,
        }
        .block(DEEPEST, self.can_break, self.can_continue)
    }
}

fn return_template(returns: &Type) -> Option<&'static str> {
    match returns.shape {
        Shape::Void => Some("return;"),
        Shape::Integer(_) | Shape::Floating { .. } => Some("return \u{1};"),
        Shape::Pointer(_) => Some("return 0;"),
        _ => None,
    }
}

/// A `goto` may enter neither the scope of a variably sized object nor a statement expression.
fn may_jump(survey: &Survey<'_>, function: &Function) -> bool {
    let text = survey
        .unit
        .text()
        .get(function.body.clone())
        .unwrap_or_default();
    let variably_sized = survey
        .unit
        .variables()
        .iter()
        .filter(|variable| variable.function == Some(function.id))
        .any(|variable| variable.ty.is_variably_sized());
    let blocks = text
        .split('(')
        .skip(1)
        .any(|rest| rest.trim_start().starts_with('{'));
    !variably_sized && !blocks && !text.contains("__label__")
}

/// A call whose integer arguments are still open; `None` when an argument cannot be made up.
fn call_template(survey: &Survey<'_>, callee: &Function) -> Option<String> {
    const REFUSED: [&str; 3] = ["error", "warning", "noreturn"];
    if callee.is_variadic
        || callee.is_old_style
        || callee.name == "main"
        || REFUSED.iter().any(|name| callee.attributes.contains(*name))
    {
        return None;
    }
    let mut arguments = Vec::new();
    for parameter in &callee.parameters {
        let parameter = survey.unit.variables().get(*parameter)?;
        arguments.push(match parameter.ty.shape {
            Shape::Integer(_) | Shape::Floating { .. } => HOLE.to_string(),
            Shape::Pointer(_) => "0".to_owned(),
            _ => return None,
        });
    }
    Some(format!("{}({})", callee.name, arguments.join(", ")))
}

/// Whether a spelling, qualifiers aside, is that of an integer type.
fn names_integer(spelling: &str) -> bool {
    let mut any = false;
    for word in spelling.split_whitespace() {
        match word {
            "const" => {}
            "int" | "char" | "short" | "long" | "signed" | "unsigned" | "_Bool" | "int8_t"
            | "int16_t" | "int32_t" | "int64_t" | "uint8_t" | "uint16_t" | "uint32_t"
            | "uint64_t" | "size_t" => any = true,
            _ => return false,
        }
    }
    any
}

struct Writer<'a> {
    around: &'a Surroundings,
    random: &'a mut fastrand::Rng,
    /// Locals declared so far: their names count up, so that inner ones hide nothing.
    locals: usize,
}

impl Writer<'_> {
    fn block(&mut self, depth: u32, can_break: bool, can_continue: bool) -> String {
        let visible = self.locals;
        let statements = self.random.usize(1..=3);
        let text: Vec<String> = (0..statements)
            .map(|_| self.statement(depth, can_break, can_continue))
            .collect();
        self.locals = visible;
        format!("{{ {} }}", text.join(" "))
    }

    fn statement(&mut self, depth: u32, can_break: bool, can_continue: bool) -> String {
        for _ in 0..8 {
            let pick = self.random.u8(0..18);
            let text = match pick {
                0..5 => self.assignment(),
                5 if depth > 0 => self.counting_loop(depth),
                6 if depth > 0 => {
                    let condition = self.value(2);
                    let then = self.block(depth - 1, can_break, can_continue);
                    let rest = if self.random.bool() {
                        let other = self.block(depth - 1, can_break, can_continue);
                        format!(" else {other}")
                    } else {
                        String::new()
                    };
                    Some(format!("if ({condition}) {then}{rest}"))
                }
                7 if depth > 0 => {
                    let condition = self.value(2);
                    let body = self.block(depth - 1, true, true);
                    Some(format!("while ({condition}) {body}"))
                }
                8 if depth > 0 => {
                    let body = self.block(depth - 1, true, true);
                    Some(format!("do {body} while ({});", self.value(2)))
                }
                9 if depth > 0 => Some(self.switch(depth, can_continue)),
                10 if can_break => Some("break;".to_owned()),
                11 if can_continue => Some("continue;".to_owned()),
                12 => {
                    let label = self.random.choice(&self.around.labels);
                    label.map(|label| format!("goto {label};"))
                }
                13 => {
                    let template = self.around.ret;
                    template.map(|template| self.fill(template))
                }
                14 => {
                    let template = self.random.choice(&self.around.calls).cloned();
                    template.map(|template| format!("{};", self.fill(&template)))
                }
                15 => Some(self.local()),
                16 => self.through_pointer(),
                _ => Some(format!(
                    "__builtin_printf(\"%d\\n\", (int){});",
                    self.value(2)
                )),
            };
            if let Some(text) = text {
                return text;
            }
        }
        ";".to_owned()
    }

    fn fill(&mut self, template: &str) -> String {
        let mut text = String::new();
        for c in template.chars() {
            if c == HOLE {
                text += &self.value(1);
            } else {
                text.push(c);
            }
        }
        text
    }

    /// An lvalue that can be assigned.
    fn target(&mut self) -> Option<String> {
        if self.locals > 0 && self.random.u8(0..4) == 0 {
            let local = self.random.usize(0..self.locals);
            return Some(format!("{}d{local}", self.around.prefix));
        }
        if self.random.u8(0..4) == 0 {
            let arrays: Vec<_> = self.around.arrays.iter().filter(|a| a.2).collect();
            if let Some((name, length, _)) = self.random.choice(&arrays) {
                return Some(self.element(name, *length));
            }
        }
        let integers = self.around.integers.iter();
        // A target is also read bare (`+=`, the condition of a loop), which wide bit-fields must not be.
        let usable = |place: &&Place| place.is_writable && !place.scalar.needs_cast();
        let writable: Vec<_> = integers.filter(usable).collect();
        let chosen = self.random.choice(&writable);
        chosen.map(|place| place.text.clone())
    }

    fn element(&mut self, name: &str, length: u64) -> String {
        let index = self.value(1);
        format!("{name}[(unsigned){index} % {length}U]")
    }

    fn assignment(&mut self) -> Option<String> {
        let target = self.target()?;
        Some(match self.random.u8(0..8) {
            0 => format!("{target}++;"),
            1 => format!("--{target};"),
            2..5 => format!("{target} = {};", self.value(2)),
            _ => {
                const COMPOUND: [&str; 8] = ["+=", "-=", "*=", "^=", "|=", "&=", ">>=", "/="];
                let operator = self.random.choice(&COMPOUND)?;
                format!("{target} {operator} {};", self.value(2))
            }
        })
    }

    fn counting_loop(&mut self, depth: u32) -> Option<String> {
        let counter = self.target()?;
        let start = self.value(1);
        let end = self.random.u8(1..40);
        let body = self.block(depth - 1, true, true);
        Some(format!(
            "for ({counter} = {start}; {counter} < {end}; {counter}++) {body}"
        ))
    }

    fn switch(&mut self, depth: u32, can_continue: bool) -> String {
        let subject = self.value(2);
        let mut label = i128::from(self.random.i8(-4..4));
        let mut text = String::new();
        for _ in 0..self.random.usize(1..=3) {
            let body = self.block(depth - 1, true, can_continue);
            text += &format!("case {label}: {body} ");
            if self.random.bool() {
                text += "break; ";
            }
            label += i128::from(self.random.u8(1..9));
        }
        let body = self.block(depth - 1, true, can_continue);
        format!("switch ((int){subject}) {{ {text}default: {body} }}")
    }

    fn local(&mut self) -> String {
        const TYPES: [&str; 6] = ["int", "unsigned", "short", "unsigned char", "long", "_Bool"];
        let ty = self.random.choice(&TYPES).copied().unwrap_or("int");
        let value = self.value(1);
        let number = self.locals;
        self.locals += 1;
        format!("{ty} {}d{number} = {value};", self.around.prefix)
    }

    fn through_pointer(&mut self) -> Option<String> {
        let (name, pointer, pointee) = self.random.choice(&self.around.pointers)?.clone();
        Some(match self.random.u8(0..4) {
            0 if pointer => format!("{name} = 0;"),
            1 if pointer => format!("{name}++;"),
            _ if pointee => format!("*{name} = {};", self.value(2)),
            _ => format!("if ({name}) {{ {} }}", self.assignment()?),
        })
    }

    /// An integer expression, safe as an operand.
    fn value(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.u8(0..10) < 3 {
            return self.leaf();
        }
        if self.random.u8(0..5) == 0 {
            let operator = self.random.choice(&Unary::ALL).map_or("!", |o| o.symbol());
            return format!("({operator}{})", self.value(depth - 1));
        }
        let operator = self.random.choice(&Binary::ALL).map_or("+", |o| o.symbol());
        let left = self.value(depth - 1);
        format!("({left} {operator} {})", self.value(depth - 1))
    }

    fn leaf(&mut self) -> String {
        match self.random.u8(0..10) {
            0 | 1 => literal(constant(self.random)).0,
            2 => {
                let array = self.random.choice(&self.around.arrays).cloned();
                match array {
                    Some((name, length, _)) => {
                        let index = self.random.u64(0..length);
                        format!("{name}[{index}]")
                    }
                    None => literal(constant(self.random)).0,
                }
            }
            3 => match self.random.choice(&self.around.pointers) {
                Some((name, ..)) if self.random.bool() => format!("(*{name})"),
                Some((name, ..)) => format!("({name} != 0)"),
                None => literal(constant(self.random)).0,
            },
            _ => match self.random.choice(&self.around.integers) {
                Some(place) => place.read(),
                None => literal(constant(self.random)).0,
            },
        }
    }
}

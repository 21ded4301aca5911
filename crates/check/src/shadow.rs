//! The shadow program: the original with a print statement, under sanitizers (paper 000 §4.2).
//!
//! The references tell what is true; before anything is reported the paper's own evidence is asked
//! for: PRINT(P, s, v) must give that value, and printing it must not be undefined. All questions of
//! a check go into one program; where a sanitizer objects to it, each is asked alone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use candor_dwarf::{Leaf, PointerValue, ScalarKind, Value};
use candor_source::instrument::without_barriers;
use candor_toolchain::gate::SanitizedRun;
use candor_toolchain::{Gate, Program};

use crate::plan::Plan;
use crate::truth::same_value;
use crate::workshop::Workshop;
use crate::{Error, Settings};

/// One question: the value of a leaf at one visit of a point.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// Index of the point.
    pub point: usize,
    /// The visit, from 1.
    pub visit: u32,
    /// The leaf as a C expression.
    pub expression: String,
    /// How to pass it to the print function.
    pub form: Form,
}

/// How a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As a 64-bit signed integer.
    Signed,
    /// As a 64-bit unsigned integer.
    Unsigned,
    /// As a double.
    Float,
    /// As whether it points anywhere.
    Pointer,
}

impl Form {
    /// The form for a leaf; `None` for what is too wide to pass.
    pub fn of(leaf: &Leaf) -> Option<Self> {
        match leaf.kind {
            ScalarKind::Float if leaf.bit_size <= 64 => Some(Form::Float),
            ScalarKind::Float => None,
            ScalarKind::Pointer => Some(Form::Pointer),
            _ if leaf.bit_size > 64 => None,
            _ if leaf.signed => Some(Form::Signed),
            _ => Some(Form::Unsigned),
        }
    }
}

/// What the shadow program says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printed {
    /// These bits (of the form asked for).
    Bits(u64),
    /// This value (of a Rust program).
    Value(Value),
    /// Printing it is undefined; the sanitizer's message.
    Undefined(String),
    /// It was not printed; why.
    Not(String),
}

impl Printed {
    /// Whether this is `value`; `None` when it cannot be told.
    pub fn is(&self, value: &Value) -> Option<bool> {
        let bits = match self {
            Printed::Bits(bits) => bits,
            Printed::Value(printed) => return same_value(printed, value),
            Printed::Undefined(_) | Printed::Not(_) => return None,
        };
        Some(match value {
            Value::Signed(v) => *v == i128::from(*bits as i64),
            Value::Unsigned(v) => *v == u128::from(*bits),
            Value::Float { bits: v, size: 8 } => *v == u128::from(*bits),
            Value::Float { bits: v, size: 4 } => {
                *v == u128::from((f64::from_bits(*bits) as f32).to_bits())
            }
            Value::Float { .. } | Value::Variant(_) => return None,
            Value::Pointer(PointerValue::Null) => *bits == 0,
            Value::Pointer(_) => *bits != 0,
        })
    }
}

const HEADER: &str = "extern void candor_show(int, unsigned, unsigned long long); \
extern void candor_show_double(int, unsigned, double);\n";

/// Prints a value when its point is visited for the wanted time. Its own counter per question.
const RUNTIME: &str = r#"#include <stdio.h>
#include <string.h>
static unsigned seen[4096];
void candor_show(int id, unsigned visit, unsigned long long bits) {
  if (id < 4096 && ++seen[id] == visit) dprintf(2, "\n@candor %d %llx\n", id, bits);
}
void candor_show_double(int id, unsigned visit, double value) {
  unsigned long long bits; memcpy(&bits, &value, sizeof bits); candor_show(id, visit, bits);
}
"#;

/// Questions one program holds at most (the run-time's counters).
const MOST: usize = 4096;

/// Asks shadow programs.
pub struct Shadows<'a> {
    gate: Gate<'a>,
    program: &'a Program,
    plan: &'a Plan,
    settings: &'a Settings,
    object: PathBuf,
    known: BTreeMap<Question, Printed>,
}

impl<'a> Shadows<'a> {
    /// Prepares the run-time.
    pub fn new(
        workshop: &Workshop<'_>,
        gate: Gate<'a>,
        program: &'a Program,
        plan: &'a Plan,
        settings: &'a Settings,
    ) -> Result<Self, Error> {
        let object = workshop.support_object(gate.compiler(), "show", RUNTIME, 0)?;
        Ok(Shadows {
            gate,
            program,
            plan,
            settings,
            object,
            known: BTreeMap::new(),
        })
    }

    /// The answers to `questions`, in their order.
    pub fn ask(&mut self, questions: &[Question]) -> Result<Vec<Printed>, Error> {
        let mut open: Vec<Question> = questions
            .iter()
            .filter(|question| !self.known.contains_key(question))
            .cloned()
            .collect();
        open.sort();
        open.dedup();
        for batch in open.chunks(MOST) {
            let answers = self.run(batch)?;
            let trouble = answers
                .iter()
                .any(|answer| !matches!(answer, Printed::Bits(_)));
            if trouble && batch.len() > 1 {
                for question in batch {
                    let alone = self.run(std::slice::from_ref(question))?;
                    self.known
                        .extend(alone.into_iter().map(|answer| (question.clone(), answer)));
                }
            } else {
                self.known.extend(batch.iter().cloned().zip(answers));
            }
        }
        Ok(questions
            .iter()
            .map(|question| {
                let missing = || Printed::Not("it was not asked".into());
                self.known.get(question).cloned().unwrap_or_else(missing)
            })
            .collect())
    }

    /// One shadow program, under both sanitizers; they must print the same.
    fn run(&self, questions: &[Question]) -> Result<Vec<Printed>, Error> {
        let statements: Vec<(usize, String)> = questions
            .iter()
            .enumerate()
            .map(|(id, question)| (question.point, question.statement(id)))
            .collect();
        let text = self
            .plan
            .with_statements(&self.program.path, HEADER, &statements)?;
        let shadow = Program {
            text: without_barriers(&text),
            ..self.program.clone()
        };
        let objects = [self.object.clone()];
        let mut answers: Option<Vec<Printed>> = None;
        for sanitizer in self.gate.sanitizers().iter().copied() {
            // printing costs little, but sanitizers do
            let time = self.settings.time * 2;
            let printed = match self.gate.run(&shadow, &objects, sanitizer, time)? {
                SanitizedRun::NotBuilt(reason) => {
                    vec![Printed::Not(reason); questions.len()]
                }
                SanitizedRun::Objection(message) => {
                    vec![Printed::Undefined(message); questions.len()]
                }
                SanitizedRun::Ended(run) => read(&run.stderr_text(), questions.len()),
            };
            answers = Some(match answers {
                None => printed,
                Some(before) => before.into_iter().zip(printed).map(agree).collect(),
            });
        }
        Ok(answers.unwrap_or_default())
    }
}

fn agree((a, b): (Printed, Printed)) -> Printed {
    match (a, b) {
        (Printed::Bits(a), Printed::Bits(b)) if a == b => Printed::Bits(a),
        (Printed::Bits(_), Printed::Bits(_)) => {
            Printed::Not("two sanitizer builds print different values".into())
        }
        (Printed::Bits(_), trouble) | (trouble, _) => trouble,
    }
}

impl Question {
    fn statement(&self, id: usize) -> String {
        let Question {
            visit, expression, ..
        } = self;
        match self.form {
            Form::Signed => {
                format!(
                    "candor_show({id}, {visit}, (unsigned long long)(long long)({expression}));"
                )
            }
            Form::Unsigned => {
                format!("candor_show({id}, {visit}, (unsigned long long)({expression}));")
            }
            // addresses differ between builds; whether it points anywhere does not
            Form::Pointer => {
                format!("candor_show({id}, {visit}, ({expression}) != 0);")
            }
            Form::Float => {
                format!("candor_show_double({id}, {visit}, (double)({expression}));")
            }
        }
    }
}

/// Reads `@candor ID BITS` lines.
fn read(text: &str, count: usize) -> Vec<Printed> {
    let mut answers = vec![Printed::Not("the point was not visited that often".into()); count];
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("@candor ") else {
            continue;
        };
        let mut words = rest.split(' ');
        let id = words.next().and_then(|word| word.parse::<usize>().ok());
        let bits = words
            .next()
            .and_then(|word| u64::from_str_radix(word, 16).ok());
        if let (Some(id), Some(bits)) = (id, bits)
            && let Some(answer) = answers.get_mut(id)
        {
            *answer = Printed::Bits(bits);
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_bits_are_compared_by_value() {
        assert_eq!(Printed::Bits(u64::MAX).is(&Value::Signed(-1)), Some(true));
        assert_eq!(Printed::Bits(5).is(&Value::Unsigned(5)), Some(true));
        assert_eq!(Printed::Bits(5).is(&Value::Unsigned(6)), Some(false));
        let half = Value::Float {
            bits: u128::from(0.5f32.to_bits()),
            size: 4,
        };
        assert_eq!(Printed::Bits(0.5f64.to_bits()).is(&half), Some(true));
        assert_eq!(
            Printed::Bits(0).is(&Value::Pointer(PointerValue::Null)),
            Some(true)
        );
        assert_eq!(Printed::Not(String::new()).is(&half), None);
    }

    #[test]
    fn answers_are_found_among_other_output() {
        let text = "noise\n\n@candor 1 ff\n@candor x\n@candor 9 1\n";
        let answers = read(text, 2);
        assert_eq!(answers[1], Printed::Bits(0xff));
        assert!(matches!(answers[0], Printed::Not(_)));
    }
}

//! The shadow program of a Rust program (paper 000 §4.2): the original with statements that hand the address of a
//! variable to a function of another object, which prints the bits that the debug information of the unoptimised build
//! says the leaf is made of.
//!
//! Printing through an address works for every type, and rustc's borrow checker takes the part that sanitizers have
//! for C: it refuses to borrow what is moved away, not initialised yet or mutably borrowed, and then there is no
//! evidence. The shadow program is built at two levels, which must print the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use candor_dwarf::{Condition, Leaf, Reading, RouteStep, ScalarKind, Value};
use candor_toolchain::{Build, Built, Compiler, Job, Limits, Program, Stage, rustc};

use crate::plan::Plan;
use crate::shadow::Printed;
use crate::workshop::Workshop;
use crate::{Error, Settings};

/// One question: a leaf at one visit of a point.
#[derive(Clone, Debug)]
pub struct Question {
    /// Index of the point.
    pub point: usize,
    /// The visit, from 1.
    pub visit: u32,
    /// The leaf, as the unoptimised build describes it.
    pub leaf: Leaf,
}

/// Behind the program, so that no line moves.
const DECLARATION: &str =
    "\nunsafe extern \"C\" { pub safe fn candor_show(id: u32, at: *const u8); }\n";

const RUNTIME: &str = r#"#![no_std]
#![crate_type = "lib"]
unsafe extern "C" { fn write(file: i32, bytes: *const u8, count: usize) -> isize; }
unsafe fn number(at: *const u8, size: usize) -> u128 {
    let mut bits = 0u128;
    let mut index = 0;
    while index < size { bits |= (unsafe { core::ptr::read(at.add(index)) } as u128) << (8 * index); index += 1; }
    bits
}
unsafe fn say(id: u32, bits: u128) {
    let mut line = *b"\n@candor 00000000 00000000000000000000000000000000\n";
    let digit = |value: u128| if value < 10 { b'0' + value as u8 } else { b'a' + (value as u8 - 10) };
    let mut index = 0;
    while index < 8 { line[9 + index] = digit((id as u128 >> (4 * (7 - index))) & 15); index += 1; }
    index = 0;
    while index < 32 { line[18 + index] = digit((bits >> (4 * (31 - index))) & 15); index += 1; }
    unsafe { write(2, line.as_ptr(), line.len()); }
}
"#;

/// Asks shadow programs.
pub struct RustShadows<'a> {
    workshop: &'a Workshop<'a>,
    compiler: &'a Compiler,
    program: &'a Program,
    plan: &'a Plan,
    settings: &'a Settings,
    built: usize,
}

impl<'a> RustShadows<'a> {
    /// For one program.
    pub fn new(
        workshop: &'a Workshop<'a>,
        compiler: &'a Compiler,
        program: &'a Program,
        plan: &'a Plan,
        settings: &'a Settings,
    ) -> Self {
        RustShadows {
            workshop,
            compiler,
            program,
            plan,
            settings,
            built: 0,
        }
    }

    /// The answers to `questions`, in their order.
    pub fn ask(&mut self, questions: &[Question]) -> Result<Vec<Printed>, Error> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        let together = self.run(questions)?;
        let trouble = together
            .iter()
            .any(|answer| !matches!(answer, Printed::Value(_)));
        if !trouble || questions.len() == 1 {
            return Ok(together);
        }
        // rustc refuses the whole program for one borrow: each for itself
        let mut answers = Vec::new();
        for question in questions {
            answers.extend(self.run(std::slice::from_ref(question))?);
        }
        Ok(answers)
    }

    fn run(&mut self, questions: &[Question]) -> Result<Vec<Printed>, Error> {
        let statements: Vec<(usize, String)> = questions
            .iter()
            .enumerate()
            .map(|(id, question)| {
                let name = &question.leaf.key.variable;
                let statement =
                    format!("crate::candor_show({id}, (&raw const {name}) as *const u8);");
                (question.point, statement)
            })
            .collect();
        let text = self
            .plan
            .with_statements(&self.program.path, DECLARATION, &statements)?;
        let mut answers: Option<Vec<Printed>> = None;
        for level in ["-O0", "-O2"] {
            let printed = match self.run_at(&text, level, questions)? {
                Ok(printed) => printed,
                Err(answer) => vec![answer; questions.len()],
            };
            answers = Some(match answers {
                None => printed,
                Some(before) => before.into_iter().zip(printed).map(agree).collect(),
            });
        }
        Ok(answers.unwrap_or_default())
    }

    fn run_at(
        &mut self,
        text: &str,
        level: &str,
        questions: &[Question],
    ) -> Result<Result<Vec<Printed>, Printed>, Error> {
        let object =
            self.workshop
                .support_object(self.compiler, "show", &runtime(questions), self.built)?;
        self.built += 1;
        let directory = self.workshop.scratch.job()?;
        directory.write(&self.program.file_name(), text)?;
        let build = Build {
            compiler: self.compiler,
            stage: Stage::Executable,
            inputs: vec![self.program.file_name().into(), object],
            flags: rustc::build_flags(&[level.to_owned()], &self.program.flags),
            output: "shadow".into(),
        };
        let sandbox = self.workshop.sandbox;
        let path = match build.run(sandbox, directory.path(), &Limits::compiler())? {
            Built::Ok { artefact, .. } => artefact,
            other => {
                let reason = other.describe();
                // used before it has a value, or after it was moved away
                let undefined = ["E0381", "E0382", "E0505"]
                    .iter()
                    .any(|code| reason.contains(code));
                return Ok(Err(if undefined {
                    Printed::Undefined(reason)
                } else {
                    Printed::Not(reason)
                }));
            }
        };
        let mut job =
            Job::new(&path, directory.path()).args(self.program.arguments.iter().cloned());
        if !self.program.stdin.is_empty() {
            job = job.stdin(self.program.stdin.clone());
        }
        let limits = Limits::program().with_time(self.settings.time * 2);
        let run = sandbox.run(&job, &limits)?;
        Ok(Ok(read(&run.stderr_text(), questions)))
    }
}

fn agree((a, b): (Printed, Printed)) -> Printed {
    match (a, b) {
        (Printed::Value(a), Printed::Value(b)) if a == b => Printed::Value(a),
        (Printed::Value(a), Printed::Value(b)) => Printed::Not(format!(
            "it prints {a} when built without optimisation and {b} with it"
        )),
        (Printed::Value(_), trouble) | (trouble, _) => trouble,
    }
}

/// The function that prints, for these questions.
fn runtime(questions: &[Question]) -> String {
    let mut text = RUNTIME.to_owned();
    let _ = writeln!(
        text,
        "static mut SEEN: [u32; {count}] = [0; {count}];\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"C\" fn candor_show(id: u32, at: *const u8) {{ unsafe {{\n\
         let mut p = at;\n\
         if id as usize >= {count} {{ return; }}\n\
         let seen = (&raw mut SEEN as *mut u32).add(id as usize);\n*seen += 1;\nlet visit = *seen;\nmatch id {{",
        count = questions.len()
    );
    for (id, question) in questions.iter().enumerate() {
        let leaf = &question.leaf;
        let _ = write!(text, "{id} if visit == {} => {{ ", question.visit);
        let steps = leaf.route.as_ref().map_or(&[][..], |route| &*route.steps);
        for step in steps {
            match step {
                RouteStep::Follow { bit_offset } => {
                    let _ = write!(
                        text,
                        "p = number(p.add({}), 8) as usize as *const u8; ",
                        bit_offset / 8
                    );
                }
                RouteStep::Test {
                    bit_offset,
                    bit_size,
                    condition,
                } => {
                    let _ = write!(
                        text,
                        "let n = number(p.add({}), {}); if !({}) {{ return; }} ",
                        bit_offset / 8,
                        bit_size / 8,
                        test(condition)
                    );
                }
            }
        }
        let _ = writeln!(
            text,
            "say({id}, number(p.add({}), {})); }}",
            leaf.bit_offset / 8,
            leaf.bit_size.div_ceil(8)
        );
    }
    text.push_str("_ => {}\n}\nlet _ = p;\n}}\n");
    text
}

fn test(condition: &Condition) -> String {
    let within = |ranges: &[(u128, u128)]| {
        let tests: Vec<String> = ranges
            .iter()
            .map(|(low, high)| format!("({low} <= n && n <= {high})"))
            .collect();
        match tests.is_empty() {
            true => "false".to_owned(),
            false => tests.join(" || "),
        }
    };
    match condition {
        Condition::Above(least) => format!("n > {least}"),
        Condition::In(ranges) => within(ranges),
        Condition::NotIn(ranges) => format!("!({})", within(ranges)),
    }
}

/// Reads `@candor ID BITS` lines, both in hexadecimal.
fn read(text: &str, questions: &[Question]) -> Vec<Printed> {
    let mut answers: BTreeMap<usize, Printed> = BTreeMap::new();
    for line in text.lines() {
        let Some((id, bits)) = line
            .strip_prefix("@candor ")
            .and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        let (Ok(id), Ok(bits)) = (
            usize::from_str_radix(id, 16),
            u128::from_str_radix(bits, 16),
        ) else {
            continue;
        };
        if let Some(value) = questions
            .get(id)
            .and_then(|question| value(&question.leaf, bits))
        {
            answers.insert(id, Printed::Value(value));
        }
    }
    let missing =
        || Printed::Not("the point was not visited that often, or it does not exist there".into());
    (0..questions.len())
        .map(|id| answers.remove(&id).unwrap_or_else(missing))
        .collect()
}

/// The value that bits stand for.
fn value(leaf: &Leaf, bits: u128) -> Option<Value> {
    if let Some(route) = &leaf.route
        && let Reading::Variant(cases) = &route.reading
    {
        let found = cases.iter().find(|(condition, _)| condition.holds(bits));
        return found.map(|(_, name)| Value::Variant(name.clone()));
    }
    Some(match leaf.kind {
        ScalarKind::Pointer => return None,
        ScalarKind::Float => Value::Float {
            bits,
            size: u8::try_from(leaf.bit_size / 8).ok()?,
        },
        _ if leaf.signed => {
            let unused = 128u32.saturating_sub(leaf.bit_size).min(127);
            Value::Signed(((bits << unused) as i128) >> unused)
        }
        _ => Value::Unsigned(bits),
    })
}

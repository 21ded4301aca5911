//! Which programs may accuse a compiler: those without undefined behaviour on their input.
//!
//! Cheap signs first: the front end's warnings, in process. Then the sanitizers, the likelier one
//! first. Reducers slide into undefined behaviour by dropping an initialiser, a `return` or a bound;
//! each of those is a warning here before it is a wrong answer.

use candor_check::Toolset;
use candor_source::Unit;
use candor_source::instrument::without_barriers;
use candor_toolchain::gate::SanitizedRun;
use candor_toolchain::{Ending, Finished, Program, Sanitizer};

use crate::verdict::{Options, Rejection};
use crate::{Error, Verdict};

/// Warnings (clang's names) that betray undefined behaviour or a program that is not C.
const SIGNS: [&str; 23] = [
    "array-bounds",
    "deprecated-non-prototype",
    "division-by-zero",
    "format",
    "implicit-function-declaration",
    "implicit-int",
    "incompatible-function-pointer-types",
    "incompatible-library-redeclaration",
    "incompatible-pointer-types",
    "int-conversion",
    "integer-overflow",
    "main-return-type",
    "null-dereference",
    "return-stack-address",
    "return-type",
    "shift-count-negative",
    "shift-count-overflow",
    "shift-negative-value",
    "shift-overflow",
    "sometimes-uninitialized",
    "uninitialized",
    "unsequenced",
    "visibility",
];

/// Judges programs.
pub struct Validity<'a> {
    tools: &'a Toolset<'a>,
    options: Options,
    signs: Vec<&'static str>,
    /// Whether the front end must accept the program.
    parse: bool,
}

impl<'a> Validity<'a> {
    /// With every sign taken seriously.
    pub fn new(tools: &'a Toolset<'a>, options: Options) -> Self {
        Validity {
            tools,
            options,
            signs: SIGNS.to_vec(),
            parse: true,
        }
    }

    /// Takes no warning seriously that `program` has already; a program that libclang cannot read
    /// switches the front end's opinion off.
    pub fn accept_warnings_of(&mut self, program: &Program) {
        if self.read(program, &[]).is_err() {
            self.parse = false;
            return;
        }
        if self.read(program, &self.signs).is_ok() {
            return;
        }
        let kept: Vec<&'static str> = self
            .signs
            .iter()
            .copied()
            .filter(|sign| self.read(program, &[sign]).is_ok())
            .collect();
        self.signs = kept;
    }

    fn read(&self, program: &Program, signs: &[&str]) -> Result<Unit, candor_source::Error> {
        if program.is_rust() {
            return candor_source::rust::parse(&program.path, &program.text);
        }
        self.tools
            .clang
            .parse_rejecting(&program.path, Some(&program.text), &program.flags, signs)
    }

    /// The front end's opinion; the parsed program where it has no objection.
    pub fn parsed(&self, program: &Program) -> Result<Unit, Rejection> {
        let signs = if self.parse {
            self.signs.as_slice()
        } else {
            &[]
        };
        self.read(program, signs)
            .map_err(|error| Rejection::Invalid(first_line(&error)))
    }

    /// The front end's opinion alone.
    pub fn warned(&self, program: &Program) -> Option<Rejection> {
        if !self.parse {
            return None;
        }
        self.parsed(program).err()
    }

    /// The sanitizers' opinion: how the program ends under them, or why it must not be used.
    pub fn sanitized(&self, program: &Program) -> Result<Result<Finished, Rejection>, Error> {
        let mut first = None;
        for sanitizer in Sanitizer::ALL {
            match self.sanitized_by(program, sanitizer)? {
                Ok(run) => {
                    first.get_or_insert(run);
                }
                Err(rejection) => return Ok(Err(rejection)),
            }
        }
        Ok(first.ok_or_else(|| Rejection::Undecided("no sanitizer ran".into())))
    }

    /// One sanitizer's opinion.
    pub fn sanitized_by(
        &self,
        program: &Program,
        sanitizer: Sanitizer,
    ) -> Result<Result<Finished, Rejection>, Error> {
        let gate = &self.tools.gate;
        let time = self.options.run * 2;
        // who judges the program does not link the barrier
        let silent = Program {
            text: without_barriers(&program.text),
            ..program.clone()
        };
        Ok(match gate.run(&silent, &[], sanitizer, time)? {
            SanitizedRun::NotBuilt(reason) => Err(Rejection::Undecided(reason)),
            SanitizedRun::Objection(message) => Err(Rejection::Invalid(format!(
                "{}: {message}",
                sanitizer.name()
            ))),
            SanitizedRun::Ended(run) => match run.ending {
                Ending::Exceeded(bound) => Err(Rejection::Undecided(format!(
                    "under {} it was stopped: {bound} reached",
                    sanitizer.name()
                ))),
                _ => Ok(run),
            },
        })
    }

    /// The sanitizers' opinion as the end of a test: `holds` unless they object.
    pub fn unless_undefined(&self, program: &Program, holds: Verdict) -> Result<Verdict, Error> {
        if !self.options.sanitize || program.is_rust() {
            return Ok(holds);
        }
        Ok(match self.sanitized(program)? {
            Ok(_) => holds,
            Err(rejection) => rejection.into(),
        })
    }
}

/// The sentence of an error that tells one candidate from another.
fn first_line(error: &candor_source::Error) -> String {
    match error {
        candor_source::Error::Syntax { diagnostics, .. } => match diagnostics.first() {
            Some(first) => format!("it does not compile cleanly: {first}"),
            None => "it does not compile cleanly".into(),
        },
        other => other.to_string(),
    }
}

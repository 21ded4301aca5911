//! Debug information with a proof behind it (paper 001, the headers).
//!
//! In: a proof that a function's machine code computes what its source says ([`candor_prove::Proof`]), and the file with
//! that code. Out: for each source variable an expression over registers at every instruction where the proof gives one, as
//! location lists in a copy of the file whose code is the same byte by byte.
//!
//! The steps, in the order of the files:
//! 1. `variables`: which value of the IR each source variable has at a loop head.
//! 2. `relations`: the proof's equations at that head, solved for source variables (paper 001 §IV-A, reduced row echelon form
//!    with source variables first).
//! 3. `spread`: from loop heads to the instructions around them, forward through reversible instructions, then backward
//!    (paper 001 §IV-B); `settled`: numbers before the first iteration and behind the last.
//! 4. `plan`: what is said now against what the proof says; the paper's counts, and how precise each value is.
//! 5. `accept`: the file with the new lists, and whether it may be written.
//! 6. `validate`: what a debugger shows at each instruction, before and after, against the source program.
//!
//! A value is that of a loop head next to the instruction: of the iteration that the machine is in, or, where one iteration of the machine
//! is k of the source, of the first of these k ([`Precision`]).

mod accept;
mod error;
mod expression;
mod plan;
mod relations;
mod settled;
mod spread;
mod validate;
mod variables;

pub use accept::{Accepted, accept, write};
pub use error::Error;
pub use expression::Expression;
pub use plan::{Counts, Listed, Plan, Planned, Shown, Span, plan};
pub use spread::{Precision, Switches};
pub use validate::{Asked, Programs, Tally, Validated, Validation};

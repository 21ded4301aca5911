//! Is this machine code the source program? (paper 001, the checker)
//!
//! In: a C source, an x86-64 object or executable built from it, and the name of a function. Out: *proved*, with the
//! correlation and the invariants; *different*, with an input that shows it; or *undecided*, with the reason. A proof says:
//! if the source program's behaviour is defined on an input and it returns, the machine code returns too, with the same
//! result, memory and calls (paper 001 §II; the paper is handed its proofs by a closed checker).
//!
//! The steps, in the order of the files:
//! 1. `term`: bit-vector terms in one normal form; `solver`: the SMT solver behind a pipe; `domain`: terms and plain numbers
//!    behind one set of operations.
//! 2. `image`: the ELF file, a function's code and control flow; `x86`: what instructions do. `ir`: the source as LLVM IR.
//! 3. `memory`, `guard`, `region`: symbolic execution from one loop head to the next.
//! 4. `trace`: both programs run on inputs; `correlate`: which loop heads belong together; `fit`, `infer`, `propose`:
//!    invariants worth trying. All of this is guessing. `native`: a difference that was found, on the processor itself.
//! 5. `invariant`, `product`, `follow`, `check`: the claims and the checker, on which a proof rests. `prove`: the search, `certificate`: a proof
//!    as a file whose checking can be repeated, `verdict`: what is told. `live`: the source on the memory of a running program, for `repair`.

mod certificate;
mod check;
mod correlate;
pub mod domain;
mod error;
mod fit;
mod follow;
mod guard;
pub mod image;
mod infer;
mod invariant;
pub mod ir;
pub mod live;
mod memory;
mod native;
mod product;
mod propose;
mod prove;
mod region;
mod solver;
pub mod term;
mod trace;
mod verdict;
pub mod x86;

pub use certificate::{Certificate, Entry};
pub use error::Error;
pub use invariant::{Column, Definition, Hypothesis, Invariant, Node};
pub use product::{Edge, Realised, Settled};
pub use prove::{Prover, Settings, source_ir};
pub use region::MachineEnd;
pub use solver::SolverSettings;
pub use trace::{Difference, Differs, Input, Mood, Native, SourceVisit};
pub use verdict::{Claims, Outcome, Proof, ProofEdge, ProofStore, Verdict};

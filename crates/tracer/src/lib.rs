//! The debuggers: a native one on ptrace that searches, and drivers for gdb and lldb that confirm.
//!
//! In: a program ([`Launch`]: executable, arguments, input, limits), its debug information
//! ([`candor_dwarf::Image`]), and where to stop ([`Mode`]). Out: every [`Stop`] with an observation of each
//! variable visible there, shown to an [`Observer`] one at a time, and how the run ended ([`RunSummary`]).
//!
//! The steps, in the order of the files: `launch` (what a run is, limits) → `watchdog` (time) → `memory`
//! (pages and breakpoints) → `process` (ptrace) → `stopped` (registers by DWARF number) → `calls` (which
//! instruction called the barrier) → `climb` (the frames further up) → `run` (the words of a run) → `follow` (calls and returns of a run without barriers) → `engine` (stops and their evaluation). Beside them stand `walk` (one call, instruction by instruction) and `debuggers`: gdb and
//! lldb asked for the same values ([`Debugger::ask`]).
//!
//! Paper 000 (Debug Information Validation for Optimized Code, PLDI 2020), section 4: stopping both builds at
//! the barrier `opt_me_not()` and comparing what a debugger shows. There each variable is one debugger session;
//! here one run shows all of them at all visits.

mod calls;
mod climb;
mod debuggers;
mod engine;
mod error;
mod follow;
mod launch;
mod memory;
mod process;
mod run;
mod stopped;
mod walk;
mod watchdog;

pub use debuggers::{Answer, Debugger, DebuggerKind, Query, Session, SessionOutcome, TracedFrame};
pub use engine::trace;
pub use error::{Error, Result};
pub use launch::{Input, Launch, Sink};
pub use run::{
    Activation, Around, BARRIER, Continue, FOLLOWED, Mode, Observer, Outcome, Quiet, RunSummary,
    Stop, StopKind, TraceOptions, UpperFrame,
};
pub use walk::{Step, Walked, walk};

//! The words of a run: where it stops, what is seen there, how it ends.

use std::sync::Arc;
use std::time::Duration;

use candor_dwarf::{Chain, Observation, Site, SiteOptions, Svma};

pub use crate::climb::UpperFrame;

/// Name of the barrier function unless the caller says otherwise.
pub const BARRIER: &str = "opt_me_not";

/// Where to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At each call of the function of this name.
    Barrier {
        /// The function; [`BARRIER`] by custom.
        symbol: String,
    },
    /// At the statements of the line table.
    Lines {
        /// How often a line is visited: once one of its addresses was stopped at this often, all its
        /// breakpoints go, which is what makes one visit cheap.
        visits_per_line: u32,
    },
    /// At the statements of the line table, at entries of functions and at calls of other files' functions.
    Quiet(Quiet),
}

/// Calls of one function that are followed in quiet mode: a function that was called this often may have been called
/// more often.
pub const FOLLOWED: u32 = 4096;

/// How closely a run without barriers is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// How often an address is visited: after that the breakpoints around it go.
    pub visits: u32,
    /// Which breakpoints go then.
    pub around: Around,
    /// Also stop between two stores of one statement to one place: unoptimised code only.
    pub exact: bool,
    /// What the stack below a function's frame is filled with when it is entered, so that what the function does not
    /// initialise differs between two runs of one build.
    pub fill: Option<u8>,
}

/// What belongs together when breakpoints go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// The line: the other lines are still seen.
    Line,
    /// The function: of its variables nothing is known any more.
    Function,
}

impl Mode {
    /// Barrier mode with the customary function.
    pub fn barrier() -> Self {
        Mode::Barrier {
            symbol: BARRIER.to_owned(),
        }
    }

    /// Line mode with one stop per line.
    pub fn lines() -> Self {
        Mode::Lines { visits_per_line: 1 }
    }
}

/// What to evaluate, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Which variables each stop shows.
    pub site: SiteOptions,
    /// The run is ended after this many stops.
    pub max_stops: u64,
    /// Stops at one address beyond this are counted and reported but not evaluated.
    pub per_site_visits: u32,
    /// In barrier mode: frames that are walked up the stack at most; 0 for none.
    pub chain: usize,
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions {
            site: SiteOptions::default(),
            max_stops: 100_000,
            per_site_visits: u32::MAX,
            chain: 0,
        }
    }
}

/// What sort of stop it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopKind {
    /// A call of the barrier; the address is the call instruction's.
    Call,
    /// The barrier was reached by a jump from a function that is gone from the stack. The stop keeps its
    /// place in the sequence, but there is no frame to compare; the address is where the barrier returns to.
    TailCall,
    /// A statement.
    Line,
    /// A function is entered. Nothing is looked at; [`Stop::name`] is the function.
    Entry,
    /// A function of another file is called; [`Stop::name`] is the function. The address is the call instruction's, and
    /// the caller is looked at; there is no site where it was reached by a jump.
    External,
}

/// A call of a function that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    /// Which function: a number of the run.
    pub function: u32,
    /// Its how-many-eth call, from 0.
    pub number: u32,
    /// The how-many-eth call of any function, from 0.
    pub serial: u32,
    /// The stack pointer at its entry.
    pub(crate) stack: u64,
}

/// One stop, as long as the observer looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Stop<'a> {
    /// Its number in the run, from 0; skipped and unaligned stops count.
    pub sequence: u64,
    /// What sort of stop it is.
    pub kind: StopKind,
    /// The address it stands for.
    pub pc: Svma,
    /// How often `pc` was stopped at by now, from 1: the hit number to give a debugger.
    pub visit: u32,
    /// What is visible there; `None` for a tail call, code without debug information, or a visit beyond
    /// [`TraceOptions::per_site_visits`].
    pub site: Option<&'a Site>,
    /// One per leaf of the site, in the same order.
    pub observations: &'a [Observation],
    /// Which globals may be seen otherwise than at the last stop that showed any, counted from the first global
    /// of the site; `None`: any of them. Of what else the site shows nothing is said.
    pub changed: Option<&'a [u32]>,
    /// The function that is entered or called.
    pub name: Option<&'a str>,
    /// In quiet mode: the functions that have not returned, the outermost first.
    pub stack: &'a [Activation],
    /// In barrier mode with [`TraceOptions::chain`]: the functions that have not returned. Equal numbers are equal chains.
    pub chain: Option<(u32, &'a Arc<Chain>)>,
    /// The variables of the functions further up, where the observer wanted them.
    pub upper: &'a [UpperFrame],
}

/// What an observer wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Run on to the next stop.
    Yes,
    /// Enough: end the program.
    No,
}

/// Sees the stops one by one, so that nothing has to be kept that the caller does not want.
pub trait Observer {
    /// Called at each stop.
    fn stop(&mut self, stop: &Stop<'_>) -> Continue;

    /// Up to which depth it wants the variables of the functions further up at this stop, which is shown to it next;
    /// 0 for none.
    fn climbs(&mut self, _sequence: u64, _chain: (u32, &Arc<Chain>)) -> u16 {
        0
    }
}

impl<F: FnMut(&Stop<'_>) -> Continue> Observer for F {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        self(stop)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The program ended by itself with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// Its time on the wall was over.
    WallTime,
    /// Its processor time was over.
    CpuTime,
    /// It wrote more than it may.
    OutputLimit,
    /// It made [`TraceOptions::max_stops`] stops.
    StopLimit,
    /// The observer had seen enough.
    Enough,
    /// Not supported: the program starts processes.
    Forked,
    /// Not supported: the program starts threads.
    Threaded,
    /// Not supported: the program replaces itself by another.
    Executed,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Exited(code) => write!(f, "exit code {code}"),
            Outcome::Signalled(signal) => write!(f, "ended by signal {signal}"),
            Outcome::WallTime => f.write_str("stopped: the time limit was reached"),
            Outcome::CpuTime => f.write_str("stopped: the processor time limit was reached"),
            Outcome::OutputLimit => f.write_str("stopped: the output limit was reached"),
            Outcome::StopLimit => f.write_str("stopped: the limit of stops was reached"),
            Outcome::Enough => f.write_str("stopped: all that was wanted was seen"),
            Outcome::Forked => f.write_str("not supported: the program starts processes"),
            Outcome::Threaded => f.write_str("not supported: the program starts threads"),
            Outcome::Executed => {
                f.write_str("not supported: the program replaces itself by another")
            }
        }
    }
}

/// A run in numbers.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// How it ended.
    pub outcome: Outcome,
    /// All stops, whether evaluated or not.
    pub stops: u64,
    /// Leaves evaluated.
    pub leaves: u64,
    /// Standard output, if it was to be captured.
    pub stdout: Vec<u8>,
    /// Standard error, if it was to be captured.
    pub stderr: Vec<u8>,
    /// The system would not load the program at fixed addresses; pointers to the stack and heap differ
    /// between runs.
    pub randomised: bool,
    /// Time to start the program and set the breakpoints.
    pub starting: Duration,
    /// Time from the first instruction to the end, evaluation included.
    pub running: Duration,
}

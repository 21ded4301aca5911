//! The native debugger: one run of a program, every variable at every stop.
//!
//! *Barrier mode* has a single breakpoint at the entry of the barrier function. A sequence of calls to an
//! external function is observable behaviour, so the k-th stop of one build is the k-th stop of every other.
//! The callee is skipped by returning in its place: one ptrace stop per call and no single steps.
//! *Line mode* stops at the statements of the line table, for builds without barriers; *quiet mode* also follows calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use candor_dwarf::{Avma, Image, Sight, Site, SiteOptions, Svma};
use candor_toolchain::Sandbox;

use crate::calls::CallFinder;
use crate::climb::Climber;
use crate::error::{Error, Result};
use crate::follow::{Follow, Happening, between_stores};
use crate::launch::Launch;
use crate::process::{Event, Tracee};
use crate::run::{
    Around, Continue, Mode, Observer, Outcome, Quiet, RunSummary, Stop, StopKind, TraceOptions,
};
use crate::stopped::Stopped;
use crate::watchdog::Fired;

/// Runs the program once and shows every stop to `observer`. `image` must be of `launch.program`.
pub fn trace(
    sandbox: &Sandbox,
    image: &Image,
    launch: &Launch,
    mode: &Mode,
    options: &TraceOptions,
    observer: &mut dyn Observer,
) -> Result<RunSummary> {
    let start = Instant::now();
    let mut run = Run::prepare(sandbox, image, launch, mode, options)?;
    let prepared = Instant::now();
    let outcome = run.run_to_end(observer);
    let fired = run.tracee.finish();
    let outcome = match (outcome?, fired) {
        (_, Some(Fired::Interrupted)) => return Err(candor_toolchain::Error::Interrupted.into()),
        (Outcome::Signalled(libc::SIGKILL), Some(Fired::TimedOut)) => Outcome::WallTime,
        (outcome, _) => outcome,
    };
    let (stdout, stderr) = run.tracee.output()?;
    Ok(RunSummary {
        outcome,
        stops: run.stops,
        leaves: run.leaves,
        stdout,
        stderr,
        randomised: run.tracee.is_randomised(),
        starting: prepared - start,
        running: prepared.elapsed(),
    })
}

/// Where the program is looked at. A call of another file's function counts its visits apart from a statement there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    At(u64),
    Call(u64),
    /// Nothing is looked at.
    Nowhere(u64),
}

impl Place {
    fn address(self) -> u64 {
        match self {
            Place::At(address) | Place::Call(address) | Place::Nowhere(address) => address,
        }
    }
}

/// A stop for the observer.
struct Reported<'n> {
    kind: StopKind,
    place: Place,
    visit: u32,
    name: Option<&'n str>,
}

/// What is known of an address that was stopped at.
#[derive(Default)]
struct Known {
    /// `None` when not prepared (yet, or any more); `Some(None)` when there is no debug information.
    site: Option<Option<Box<Site>>>,
    visits: u32,
}

/// Leaves of prepared sites that are kept: a large program has thousands of sites, and preparing one again is
/// cheaper than keeping them all. Globals are shared and do not count.
const CACHED_LEAVES: usize = 20_000;

/// The stopping half of a run, by mode.
enum Stops {
    Barrier {
        target: u64,
        /// By return address: the call instruction, or `None` for a tail call.
        callers: HashMap<u64, Option<u64>>,
    },
    Statements {
        /// By address: index into `groups`.
        group_of: HashMap<u64, usize>,
        /// Breakpoints by line or by function.
        groups: Vec<Vec<u64>>,
        /// A group is done with when one of its addresses was visited this often.
        visits: u32,
        /// A breakpoint that is out while its instruction is stepped over.
        stepping: Option<u64>,
        /// No step: a breakpoint is out until the next one is reached. A statement that only comes to itself again is
        /// then seen once.
        is_lazy: bool,
        /// The breakpoint that is out.
        out: Option<u64>,
        /// Calls and returns, where they are followed.
        follow: Option<Box<Follow>>,
    },
}

struct Run<'a> {
    image: &'a Image,
    options: &'a TraceOptions,
    tracee: Tracee,
    bias: u64,
    how: Stops,
    places: HashMap<Place, Known>,
    cached_leaves: usize,
    sight: Sight,
    climber: Climber,
    stops: u64,
    leaves: u64,
    /// What statements show, where it is less than other places do.
    statement_site: Option<SiteOptions>,
}

/// What to do with the program after a stop was dealt with.
enum Next {
    Resume,
    Step,
    /// The program is gone; waiting tells how.
    Gone,
    End(Outcome),
}

impl<'a> Run<'a> {
    fn prepare(
        sandbox: &Sandbox,
        image: &'a Image,
        launch: &Launch,
        mode: &Mode,
        options: &'a TraceOptions,
    ) -> Result<Self> {
        let mut tracee = Tracee::start(launch, sandbox)?;
        let bias = tracee.loaded_entry()?.wrapping_sub(image.entry().0);
        let how = match mode {
            Mode::Barrier { symbol } => {
                let found = image.symbol(symbol).ok_or_else(|| Error::NoBarrier {
                    program: tracee.program().clone(),
                    symbol: symbol.clone(),
                })?;
                let target = found.address.loaded(bias).0;
                tracee.insert_breakpoint(target)?;
                Stops::Barrier {
                    target,
                    callers: HashMap::new(),
                }
            }
            Mode::Lines { visits_per_line } => {
                let quiet = Quiet {
                    visits: *visits_per_line,
                    around: Around::Line,
                    exact: false,
                    fill: None,
                };
                statement_stops(image, &mut tracee, bias, quiet, None)?
            }
            Mode::Quiet(quiet) => {
                let follow = Follow::new(image, &mut tracee, bias, quiet.fill)?;
                statement_stops(image, &mut tracee, bias, *quiet, Some(follow))?
            }
        };
        Ok(Run {
            image,
            options,
            tracee,
            bias,
            how,
            places: HashMap::new(),
            cached_leaves: 0,
            sight: Sight::default(),
            climber: Climber::default(),
            stops: 0,
            leaves: 0,
            // what globals hold between two statements nobody can tell: their stores come when they come
            statement_site: matches!(mode, Mode::Quiet(_)).then(|| SiteOptions {
                globals: false,
                ..options.site.clone()
            }),
        })
    }

    fn run_to_end(&mut self, observer: &mut dyn Observer) -> Result<Outcome> {
        self.tracee.resume(0)?;
        loop {
            let signal = match self.tracee.wait()? {
                Event::Signal(signal) => signal,
                Event::Exited(code) => return Ok(Outcome::Exited(code)),
                Event::Killed(libc::SIGXCPU) => return Ok(Outcome::CpuTime),
                Event::Killed(libc::SIGXFSZ) => return Ok(Outcome::OutputLimit),
                Event::Killed(signal) => return Ok(Outcome::Signalled(signal)),
                Event::Forked => return Ok(Outcome::Forked),
                Event::Threaded => return Ok(Outcome::Threaded),
                Event::Executed => return Ok(Outcome::Executed),
            };
            let stepped = self.end_step()?;
            if signal != libc::SIGTRAP {
                self.tracee.resume(signal)?;
                continue;
            }
            if stepped {
                self.tracee.resume(0)?;
                continue;
            }
            match self.trap(observer)? {
                Some(Next::Resume) => self.tracee.resume(0)?,
                Some(Next::Step) => self.tracee.step(0)?,
                Some(Next::Gone) => {}
                Some(Next::End(outcome)) => return Ok(outcome),
                // The program's own trap instruction or signal.
                None => self.tracee.resume(signal)?,
            }
        }
    }

    /// Puts a stepped-over breakpoint back; says whether there was one.
    fn end_step(&mut self) -> Result<bool> {
        let Stops::Statements { stepping, .. } = &mut self.how else {
            return Ok(false);
        };
        let Some(address) = stepping.take() else {
            return Ok(false);
        };
        self.tracee.insert_breakpoint(address)?;
        Ok(true)
    }

    /// Deals with a SIGTRAP; `None` if it is not of our making.
    fn trap(&mut self, observer: &mut dyn Observer) -> Result<Option<Next>> {
        let Some(registers) = self.tracee.registers()? else {
            return Ok(Some(Next::Gone));
        };
        let address = registers.rip.wrapping_sub(1);
        if !self.tracee.memory.has_breakpoint(address) {
            return Ok(None);
        }
        if self.stops >= self.options.max_stops {
            return Ok(Some(Next::End(Outcome::StopLimit)));
        }
        match self.how {
            Stops::Barrier { .. } => self.at_barrier(registers, observer).map(Some),
            Stops::Statements { .. } => self.at_statement(address, registers, observer).map(Some),
        }
    }

    fn at_barrier(
        &mut self,
        mut registers: libc::user_regs_struct,
        observer: &mut dyn Observer,
    ) -> Result<Next> {
        let Stops::Barrier { target, callers } = &mut self.how else {
            return Ok(Next::Resume);
        };
        let Some(back) = self.tracee.memory.word(registers.rsp) else {
            // Without a stack there is nothing to return to: let the callee run into the fault itself.
            let outcome = Outcome::Signalled(libc::SIGSEGV);
            return Ok(if self.tracee.registers()?.is_some() {
                Next::End(outcome)
            } else {
                Next::Gone
            });
        };
        let find = || {
            let (image, memory, bias) = (self.image, &self.tracee.memory, self.bias);
            CallFinder {
                image,
                memory,
                bias,
                registers: &registers,
            }
            .find(back, *target)
        };
        let call = *callers.entry(back).or_insert_with(find);
        // The state of the caller: at its call, the return address not yet pushed.
        registers.rsp = registers.rsp.wrapping_add(8);
        let (kind, pc) = match call {
            Some(call) => (StopKind::Call, call),
            None => (StopKind::TailCall, back),
        };
        registers.rip = pc;
        let place = Place::At(pc);
        let visit = self.evaluate(kind, place, &registers);
        self.climb(kind, pc, &registers, observer);
        registers.rip = back;
        let what = Reported {
            kind,
            place,
            visit,
            name: None,
        };
        self.report(what, &registers, observer)
    }

    /// Looks at the frames further up, as far as they are wanted.
    fn climb(
        &mut self,
        kind: StopKind,
        pc: u64,
        registers: &libc::user_regs_struct,
        observer: &mut dyn Observer,
    ) {
        self.climber.look_away();
        if self.options.chain == 0 || kind == StopKind::TailCall {
            return;
        }
        let stopped = Stopped::new(&self.tracee, registers, self.bias);
        let at = Avma(pc).stated(self.bias);
        let climber = &mut self.climber;
        climber.climb(self.image, at, &stopped, self.options.chain);
        let Some(chain) = climber.chain() else { return };
        let depth = observer.climbs(self.stops, chain);
        if depth > 0 {
            climber.observe(self.image, &stopped, depth, self.options.site.leaf_cap);
        }
    }

    fn at_statement(
        &mut self,
        address: u64,
        mut registers: libc::user_regs_struct,
        observer: &mut dyn Observer,
    ) -> Result<Next> {
        registers.rip = address;
        if let Stops::Statements { out, group_of, .. } = &mut self.how
            && let Some(other) = out.take()
            && group_of.contains_key(&other)
        {
            self.tracee.insert_breakpoint(other)?;
        }
        match self.happens(address, &registers, observer)? {
            Next::Resume => {}
            other => return Ok(other),
        }
        let Stops::Statements { group_of, .. } = &self.how else {
            return Ok(Next::Resume);
        };
        let (visit, next) = if group_of.contains_key(&address) {
            let place = Place::At(address);
            let visit = self.evaluate(StopKind::Line, place, &registers);
            let what = Reported {
                kind: StopKind::Line,
                place,
                visit,
                name: None,
            };
            (visit, self.report(what, &registers, observer)?)
        } else if self.tracee.set_registers(&registers)? {
            (0, Next::Resume)
        } else {
            (0, Next::Gone)
        };
        self.pass(address, visit, next)
    }

    /// Tells the observer if a function is entered or called here.
    fn happens(
        &mut self,
        address: u64,
        registers: &libc::user_regs_struct,
        observer: &mut dyn Observer,
    ) -> Result<Next> {
        let Stops::Statements {
            follow: Some(follow),
            ..
        } = &mut self.how
        else {
            return Ok(Next::Resume);
        };
        let Some((happening, name)) = follow.at(address, registers.rsp, &mut self.tracee) else {
            return Ok(Next::Resume);
        };
        let name = name.to_owned();
        let called = match happening {
            Happening::Entered => None,
            Happening::Called => self.call_to(address, registers),
        };
        let Some(call) = called else {
            // where it is entered nothing is to be seen yet, and a jump to it leaves no caller
            self.sight.look_away();
            let what = Reported {
                kind: match happening {
                    Happening::Entered => StopKind::Entry,
                    Happening::Called => StopKind::External,
                },
                place: Place::Nowhere(address),
                visit: 0,
                name: Some(&name),
            };
            return self.report(what, registers, observer);
        };
        let mut before = *registers;
        before.rsp = before.rsp.wrapping_add(8);
        before.rip = call;
        let place = Place::Call(call);
        let visit = self.evaluate(StopKind::External, place, &before);
        let what = Reported {
            kind: StopKind::External,
            place,
            visit,
            name: Some(&name),
        };
        self.report(what, registers, observer)
    }

    /// The instruction that called the function whose entry was reached; `None` if it was not called.
    fn call_to(&self, target: u64, registers: &libc::user_regs_struct) -> Option<u64> {
        let finder = CallFinder {
            image: self.image,
            memory: &self.tracee.memory,
            bias: self.bias,
            registers,
        };
        finder.find(self.tracee.memory.word(registers.rsp)?, target)
    }

    /// Goes on from a breakpoint: over it, or without it where it was seen often enough.
    fn pass(&mut self, address: u64, visit: u32, mut next: Next) -> Result<Next> {
        let Stops::Statements {
            group_of,
            groups,
            visits,
            stepping,
            is_lazy,
            out,
            follow,
        } = &mut self.how
        else {
            return Ok(next);
        };
        let mut is_out = false;
        if let Some(follow) = follow
            && follow.has_enough(address)
            && !group_of.contains_key(&address)
        {
            self.tracee.remove_breakpoint(address)?;
            is_out = true;
        }
        if visit >= *visits {
            let group = group_of
                .get(&address)
                .and_then(|group| groups.get_mut(*group));
            for other in group.map(std::mem::take).unwrap_or_default() {
                group_of.remove(&other);
                if !follow.as_ref().is_some_and(|follow| follow.wants(other)) {
                    self.tracee.remove_breakpoint(other)?;
                    is_out |= other == address;
                }
            }
        }
        if is_out || !matches!(next, Next::Resume) {
            return Ok(next);
        }
        self.tracee.remove_breakpoint(address)?;
        if *is_lazy && !follow.as_ref().is_some_and(|follow| follow.wants(address)) {
            *out = Some(address);
        } else {
            *stepping = Some(address);
            next = Next::Step;
        }
        Ok(next)
    }

    /// Looks around at a stop, if it is to be evaluated; the visit number otherwise too.
    fn evaluate(
        &mut self,
        kind: StopKind,
        place: Place,
        registers: &libc::user_regs_struct,
    ) -> u32 {
        self.sight.look_away();
        let (image, options) = (self.image, self.options);
        if self.cached_leaves > CACHED_LEAVES {
            for known in self.places.values_mut() {
                known.site = None;
            }
            self.cached_leaves = 0;
        }
        let known = self.places.entry(place).or_default();
        known.visits = known.visits.saturating_add(1);
        if kind == StopKind::TailCall || known.visits > options.per_site_visits {
            return known.visits;
        }
        let cached_leaves = &mut self.cached_leaves;
        let wanted = match (place, &self.statement_site) {
            (Place::At(_), Some(fewer)) => fewer,
            _ => &options.site,
        };
        let site = known.site.get_or_insert_with(|| {
            // Code without debug information is passed through as a stop without a site.
            let pc = Avma(place.address()).stated(self.bias);
            let site = image.site(pc, wanted).ok();
            *cached_leaves += site.as_ref().map_or(0, |site| site.leaves().own.len());
            site.map(Box::new)
        });
        if let Some(site) = site {
            let stopped = Stopped::new(&self.tracee, registers, self.bias);
            image.look(site, &stopped, &mut self.sight);
            self.leaves += site.leaves().len() as u64;
        }
        known.visits
    }

    /// Shows a stop to the observer, once the program is known to have lived through its evaluation: had it
    /// been killed meanwhile, what was read would be "unreadable" for no fault of its own.
    fn report(
        &mut self,
        what: Reported<'_>,
        after: &libc::user_regs_struct,
        observer: &mut dyn Observer,
    ) -> Result<Next> {
        if !self.tracee.set_registers(after)? {
            return Ok(Next::Gone);
        }
        let known = self.places.get(&what.place);
        let site = known
            .and_then(|known| known.site.as_ref()?.as_deref())
            .filter(|_| what.visit <= self.options.per_site_visits);
        let stop = Stop {
            sequence: self.stops,
            kind: what.kind,
            pc: Avma(what.place.address()).stated(self.bias),
            visit: what.visit,
            site,
            observations: self.sight.observations(),
            changed: self.sight.changed(),
            name: what.name,
            stack: match &self.how {
                Stops::Statements {
                    follow: Some(follow),
                    ..
                } => &follow.stack,
                _ => &[],
            },
            chain: self.climber.chain(),
            upper: self.climber.upper(),
        };
        self.stops += 1;
        Ok(match observer.stop(&stop) {
            Continue::Yes => Next::Resume,
            Continue::No => Next::End(Outcome::Enough),
        })
    }
}

/// What goes together when it was seen often enough: a line of a file, or a function.
type Group = (Option<Arc<str>>, u64);

fn statement_stops(
    image: &Image,
    tracee: &mut Tracee,
    bias: u64,
    quiet: Quiet,
    follow: Option<Follow>,
) -> Result<Stops> {
    let mut group_of = HashMap::new();
    let mut groups: Vec<Vec<u64>> = Vec::new();
    let mut index: HashMap<Group, usize> = HashMap::new();
    let stops = image.statement_stops()?;
    let mut places: Vec<(u64, Group)> = Vec::new();
    let function = |pc: Svma| {
        image
            .symbolise(pc)
            .map_or(pc.0, |(_, offset)| pc.0 - offset)
    };
    for stop in &stops {
        let group = match quiet.around {
            Around::Line => (Some(stop.file.clone()), u64::from(stop.line.0)),
            Around::Function => (None, function(stop.pc)),
        };
        places.push((stop.pc.0, group));
    }
    if quiet.exact {
        let rows: Vec<u64> = stops.iter().map(|stop| stop.pc.0).collect();
        for address in between_stores(image, &rows) {
            places.push((address, (None, function(Svma(address)))));
        }
    }
    for (at, group) in places {
        let address = Svma(at).loaded(bias).0;
        let group = *index.entry(group).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if group_of.insert(address, group).is_none()
            && let Some(addresses) = groups.get_mut(group)
        {
            addresses.push(address);
            tracee.insert_breakpoint(address)?;
        }
    }
    if groups.is_empty() {
        return Err(Error::NoLines {
            program: tracee.program().clone(),
        });
    }
    Ok(Stops::Statements {
        group_of,
        groups,
        visits: quiet.visits.max(1),
        stepping: None,
        is_lazy: quiet.exact,
        out: None,
        follow: follow.map(Box::new),
    })
}

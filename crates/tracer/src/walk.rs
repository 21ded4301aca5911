//! One call of a function, instruction by instruction.
//!
//! For debug information that is to be true at every instruction, not only where a debugger likes to stop. Functions that are
//! called on the way run at full speed.

use candor_dwarf::{Avma, Image, Machine, Svma};
use candor_toolchain::Sandbox;

use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::process::{Event, Tracee};
use crate::run::{Continue, Outcome};
use crate::stopped::Stopped;
use crate::watchdog::Fired;

/// The program before one instruction of the function.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The instruction.
    pub pc: Svma,
    /// Registers and memory.
    pub machine: &'a dyn Machine,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// The function returned, or left by a jump.
    Returned,
    /// The visitor had seen enough.
    Enough,
    /// The program ended, or was ended, before that.
    Ended(Outcome),
}

/// Runs the program to the first call of `function` and shows every instruction of that call. `image` must be of `launch.program`.
pub fn walk(
    sandbox: &Sandbox,
    image: &Image,
    launch: &Launch,
    function: &str,
    visitor: &mut dyn FnMut(&Step<'_>) -> Continue,
) -> Result<Walked> {
    let mut tracee = Tracee::start(launch, sandbox)?;
    let bias = tracee.loaded_entry()?.wrapping_sub(image.entry().0);
    let symbol = image.symbol(function).ok_or_else(|| Error::NoBarrier {
        program: tracee.program().clone(),
        symbol: function.to_owned(),
    })?;
    let start = symbol.address.loaded(bias).0;
    let mut walk = Walk {
        tracee: &mut tracee,
        bias,
        range: start..start + symbol.size.max(1),
    };
    let ended = walk.run(visitor);
    match (ended?, tracee.finish()) {
        (_, Some(Fired::Interrupted)) => Err(candor_toolchain::Error::Interrupted.into()),
        (Walked::Ended(Outcome::Signalled(libc::SIGKILL)), Some(Fired::TimedOut)) => {
            Ok(Walked::Ended(Outcome::WallTime))
        }
        (ended, _) => Ok(ended),
    }
}

struct Walk<'t> {
    tracee: &'t mut Tracee,
    bias: u64,
    range: std::ops::Range<u64>,
}

impl Walk<'_> {
    fn run(&mut self, visitor: &mut dyn FnMut(&Step<'_>) -> Continue) -> Result<Walked> {
        if let Some(ended) = self.run_to(self.range.start)? {
            return Ok(Walked::Ended(ended));
        }
        let Some(registers) = self.tracee.registers()? else {
            return self.gone();
        };
        let back = self.tracee.memory.word(registers.rsp);
        loop {
            let Some(registers) = self.tracee.registers()? else {
                return self.gone();
            };
            if !self.range.contains(&registers.rip) {
                let caller = self.tracee.memory.word(registers.rsp);
                match caller {
                    // a call: its return address is within the function
                    Some(to) if self.range.contains(&to) && Some(registers.rip) != back => {
                        if let Some(ended) = self.run_to(to)? {
                            return Ok(Walked::Ended(ended));
                        }
                        continue;
                    }
                    _ => return Ok(Walked::Returned),
                }
            }
            let stopped = Stopped::new(self.tracee, &registers, self.bias);
            let step = Step {
                pc: Avma(registers.rip).stated(self.bias),
                machine: &stopped,
            };
            if visitor(&step) == Continue::No {
                return Ok(Walked::Enough);
            }
            self.tracee.step(0)?;
            match self.tracee.wait()? {
                Event::Signal(libc::SIGTRAP) => {}
                Event::Signal(signal) => return Ok(Walked::Ended(Outcome::Signalled(signal))),
                other => return Ok(Walked::Ended(outcome(other))),
            }
        }
    }

    /// Runs to an address; how the program ended, if it did not get there.
    fn run_to(&mut self, address: u64) -> Result<Option<Outcome>> {
        self.tracee.insert_breakpoint(address)?;
        let mut signal = 0;
        loop {
            self.tracee.resume(signal)?;
            match self.tracee.wait()? {
                Event::Signal(libc::SIGTRAP) => {
                    let Some(mut registers) = self.tracee.registers()? else {
                        continue;
                    };
                    if registers.rip.wrapping_sub(1) != address {
                        signal = libc::SIGTRAP; // the program's own
                        continue;
                    }
                    registers.rip = address;
                    self.tracee.remove_breakpoint(address)?;
                    self.tracee.set_registers(&registers)?;
                    return Ok(None);
                }
                Event::Signal(other) => signal = other,
                other => return Ok(Some(outcome(other))),
            }
        }
    }

    fn gone(&mut self) -> Result<Walked> {
        let event = self.tracee.wait()?;
        Ok(Walked::Ended(outcome(event)))
    }
}

fn outcome(event: Event) -> Outcome {
    match event {
        Event::Signal(signal) | Event::Killed(signal) => match signal {
            libc::SIGXCPU => Outcome::CpuTime,
            libc::SIGXFSZ => Outcome::OutputLimit,
            signal => Outcome::Signalled(signal),
        },
        Event::Exited(code) => Outcome::Exited(code),
        Event::Forked => Outcome::Forked,
        Event::Threaded => Outcome::Threaded,
        Event::Executed => Outcome::Executed,
    }
}

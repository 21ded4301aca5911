//! The frames of a stopped program: the functions that have not returned, inlined ones included, each with the line that
//! it is at. From frame to frame leads the call frame information; in one frame, the instances of inlined functions
//! around the address, each with the line that it was called from.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::constants as dw;

use crate::caller::Callers;
use crate::frame::{Frame, GENERAL_REGISTERS, Registers, Scope};
use crate::observe::Reader;
use crate::scopes::instances;
use crate::{Error, Image, Line, Machine, Observation, Site, Svma};

/// A direct call: its operation code and its length.
const CALL: u8 = 0xe8;
const CALL_LENGTH: u64 = 5;
const STACK_POINTER: usize = 7;

/// One function of a chain, inlined or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFrame {
    /// Its name in the source.
    pub function: Arc<str>,
    /// The line it is at: for the innermost its own, for the others that of the call. `None`: it belongs to no line.
    pub line: Option<Line>,
    /// Another line that the line table has for the same address: of several rows there debuggers choose differently.
    pub other_line: Option<Line>,
    /// How it got to the function below it; of no meaning for the innermost.
    pub way: Way,
    /// Which frame of the stack it belongs to, from 0: inlined functions share one.
    pub physical: u16,
    /// The address that its line was looked up at.
    pub pc: Svma,
}

/// How a frame got to the one below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The function below is inlined into it.
    Inlined,
    /// Its call instruction names the function below.
    Call,
    /// Its call instruction names this function, which got to the one below by jumps (tail calls).
    Jump(Arc<str>),
    /// Its call instruction does not tell.
    Unknown,
}

/// Why a chain has no more frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainEnd {
    /// The next frame's code has no debug information.
    Outside,
    /// It is as long as was asked for.
    Cut,
    /// The call frame information does not lead on.
    Broken,
}

/// The functions that have not returned, innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Each of them.
    pub frames: Vec<ChainFrame>,
    /// Why there are no more.
    pub end: ChainEnd,
}

/// What is known of an address in code.
#[derive(Debug)]
struct Code {
    scope: Scope,
    /// The functions around it, innermost first, each with its line.
    functions: Vec<(Arc<str>, Option<Line>)>,
    /// The innermost one's line by another row.
    other_line: Option<Line>,
}

/// A frame of the stack.
#[derive(Debug)]
struct Level {
    /// What its line and variables are looked up by: the call's last byte, or the address stopped at.
    look: u64,
    code: Arc<Code>,
    /// `None` for the innermost: the machine has them.
    registers: Option<Box<[Option<u64>; GENERAL_REGISTERS]>>,
}

/// The stack as of one stop; used again for the next one.
#[derive(Debug)]
pub struct Stack {
    levels: Vec<Level>,
    end: ChainEnd,
    /// By address; `None` where there is no debug information.
    known: HashMap<u64, Option<Arc<Code>>>,
}

impl Default for Stack {
    fn default() -> Self {
        Stack {
            levels: Vec::new(),
            end: ChainEnd::Broken,
            known: HashMap::new(),
        }
    }
}

impl Stack {
    /// The addresses that the frames were looked up by, innermost first: equal ones are equal chains.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.levels.iter().map(|level| level.look)
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// Whether nothing is known of it.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Why there are no more.
    pub fn end(&self) -> ChainEnd {
        self.end
    }

    /// The address of one frame, for [`Image::site`].
    pub fn address(&self, level: usize) -> Option<Svma> {
        self.levels.get(level).map(|level| Svma(level.look))
    }

    /// How many functions share a frame: itself, and what is inlined into it here.
    pub fn functions(&self, level: usize) -> usize {
        let level = self.levels.get(level);
        level.map_or(0, |level| level.code.functions.len())
    }

    /// Forgets the last stop.
    pub fn clear(&mut self) {
        self.levels.clear();
        self.end = ChainEnd::Broken;
    }
}

impl Image {
    /// Walks the stack of a program that is stopped at `pc`, up to `limit` frames.
    pub fn walk(&self, stack: &mut Stack, pc: Svma, machine: &dyn Machine, limit: usize) {
        stack.clear();
        let around = self.around();
        let (mut look, mut registers) = (pc.0, Registers::Machine);
        loop {
            let Some(code) = self.code_at(&mut stack.known, look) else {
                stack.end = ChainEnd::Outside;
                break;
            };
            let frame = Frame::new(&around, machine, &code.scope, registers, 0);
            let next = (stack.levels.len() + 1 < limit).then(|| caller_of(&around, &frame));
            let own = match frame.registers {
                Registers::Machine => None,
                Registers::Saved(saved) => Some(saved),
            };
            stack.levels.push(Level {
                look,
                code: code.clone(),
                registers: own,
            });
            match next {
                Some(Some((back, saved))) => {
                    look = back.wrapping_sub(machine.bias()).wrapping_sub(1);
                    registers = Registers::Saved(saved);
                }
                Some(None) => {
                    stack.end = ChainEnd::Broken;
                    break;
                }
                None => {
                    stack.end = ChainEnd::Cut;
                    break;
                }
            }
        }
    }

    /// The functions of a stack.
    pub fn chain(&self, stack: &Stack) -> Chain {
        let mut frames = Vec::new();
        let mut below: Option<&Level> = None;
        for (physical, level) in (0u16..).zip(&stack.levels) {
            let mut way = below.map_or(Way::Unknown, |below| self.way(level.look, below));
            for (place, (function, line)) in level.code.functions.iter().enumerate() {
                frames.push(ChainFrame {
                    function: function.clone(),
                    line: *line,
                    other_line: level.code.other_line.filter(|_| place == 0),
                    way: std::mem::replace(&mut way, Way::Inlined),
                    physical,
                    pc: Svma(level.look),
                });
            }
            below = Some(level);
        }
        Chain {
            frames,
            end: stack.end,
        }
    }

    /// Replaces `out` by one observation per leaf of a site of a frame's address ([`Stack::address`]), with the frame's
    /// registers as far as they are known. Globals are not looked at.
    pub fn observe_frame(
        &self,
        stack: &Stack,
        level: usize,
        site: &Site,
        machine: &dyn Machine,
        out: &mut Vec<Observation>,
    ) {
        out.clear();
        out.resize(site.own.leaves.len(), Observation::OptimisedOut);
        let Some(level) = stack.levels.get(level) else {
            return;
        };
        let registers = match &level.registers {
            Some(saved) => Registers::Saved(saved.clone()),
            None => Registers::Machine,
        };
        let around = self.around();
        let frame = Frame::new(&around, machine, &site.scope, registers, 0);
        let mut reader = Reader::new(&frame);
        for variable in &site.own.variables {
            reader.read(
                variable,
                variable.of(&site.own.leaves),
                variable.of_mut(out),
            );
        }
    }

    /// Which instance of a function, inlined or not, an address is in: equal for equal ones of one file.
    pub fn instance_at(&self, pc: Svma) -> Option<(u32, u32)> {
        let function = self.units().function_at(pc.0).ok().flatten()?;
        let groups = instances(self.units(), function, pc.0).ok()?;
        let innermost = groups.first()?.first()?;
        Some((innermost.unit, innermost.index))
    }

    fn code_at(
        &self,
        known: &mut HashMap<u64, Option<Arc<Code>>>,
        address: u64,
    ) -> Option<Arc<Code>> {
        let find = || self.find_code(address).ok().flatten().map(Arc::new);
        known.entry(address).or_insert_with(find).clone()
    }

    fn find_code(&self, address: u64) -> Result<Option<Code>, Error> {
        let units = self.units();
        let Some(scope) = Scope::at(units, self.frames(), address)? else {
            return Ok(None);
        };
        let table = units.lines(scope.function.unit)?;
        let mut line = table.at(address).and_then(|row| row.line);
        let other_line = table.last_line_at(address);
        let other_line = other_line.filter(|other| Some(*other) != line);
        let mut functions = Vec::new();
        for group in instances(units, scope.function, address)? {
            let Some(instance) = group.first() else {
                continue;
            };
            let name = units.name(*instance).unwrap_or_else(|| Arc::from("?"));
            functions.push((name, line));
            line = units
                .own(*instance, dw::DW_AT_call_line)
                .and_then(|line| line.udata_value())
                .and_then(|line| u32::try_from(line).ok())
                .filter(|line| *line != 0)
                .map(Line);
        }
        Ok(Some(Code {
            scope,
            functions,
            other_line,
        }))
    }

    /// How the call that ends right after `look` got to the frame below.
    fn way(&self, look: u64, below: &Level) -> Way {
        let back = look.wrapping_add(1);
        let Some(target) = self.call_target(back) else {
            return Way::Unknown;
        };
        if target == below.code.scope.entry {
            return Way::Call;
        }
        let units = self.units();
        let starts = |function: &crate::units::EntryId| {
            let ranges = units.ranges(*function).ok().flatten();
            ranges.is_some_and(|ranges| ranges.iter().any(|(start, _)| *start == target))
        };
        let function = units.function_at(target).ok().flatten().filter(starts);
        function
            .and_then(|function| units.name(function))
            .map_or(Way::Unknown, Way::Jump)
    }

    /// Where the direct call that returns to `back` leads.
    fn call_target(&self, back: u64) -> Option<u64> {
        let start = back.checked_sub(CALL_LENGTH)?;
        let (address, code) = self
            .file()
            .code()
            .find(|(address, code)| *address <= start && back - *address <= code.len() as u64)?;
        let at = usize::try_from(start - address).ok()?;
        let [CALL, distance @ ..] = code.get(at..at + CALL_LENGTH as usize)? else {
            return None;
        };
        let distance = i64::from(i32::from_le_bytes(distance.try_into().ok()?));
        Some(back.wrapping_add_signed(distance))
    }
}

/// The return address of a frame, and the registers that its caller had.
type CallerState = (u64, Box<[Option<u64>; GENERAL_REGISTERS]>);

fn caller_of(around: &Callers<'_>, frame: &Frame<'_>) -> Option<CallerState> {
    around.steps.set(0);
    let saved = frame.unwind().ok()?;
    let back = saved.last().copied().flatten().filter(|back| *back != 0)?;
    // the stack grows downwards: a frame that is not above its callee's is none
    let above = saved.get(STACK_POINTER).copied().flatten()?;
    let here = frame.register(STACK_POINTER as u16).ok()? as u64;
    (above > here).then(|| (back, Box::new(saved)))
}

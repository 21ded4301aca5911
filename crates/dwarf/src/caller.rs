//! What only the caller knows: the values that a function's parameters had when it was called (`DW_OP_entry_value`,
//! `DW_OP_GNU_parameter_ref`). One frame is unwound, the call site is found by the return address, and what it says of
//! the argument is evaluated in the caller.
//!
//! A tail call leaves no frame, so the call site found may be of another call. The call must therefore name the function
//! that is stopped in, and that function must not be able to reach itself by tail calls; otherwise nothing is claimed.
//! gdb does the same (and knows a few more cases).

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use gimli::constants as dw;

use crate::Error;
use crate::cfi::Frames;
use crate::elf::File;
use crate::expression::{Decoder, EntrySource, Op, Program, budget};
use crate::frame::{Frame, MAX_CALLERS, Registers, Scope};
use crate::place::Place;
use crate::stack::{Fault, StackValue, Type};
use crate::units::{EntryId, Units};

/// Functions that are looked at for tail calls.
const MAX_TAIL_CALLED: usize = 10_000;
/// What unwinding a frame counts, in operations.
const UNWIND_COST: u32 = 64;

/// What evaluating needs beyond the frame itself; one per observation of a site.
pub(crate) struct Callers<'a> {
    pub(crate) units: &'a Units,
    pub(crate) frames: &'a Frames,
    pub(crate) file: &'a File,
    pub(crate) tls_block: Option<u64>,
    pub(crate) memory: &'a CallerMemory,
    /// Operations taken by the variable that is being evaluated.
    pub(crate) steps: Cell<u32>,
}

/// Callers and tail calls that were looked up before.
#[derive(Debug, Default)]
pub(crate) struct CallerMemory {
    by_return_address: Mutex<HashMap<u64, Arc<Result<Caller, String>>>>,
    reaches_itself: Mutex<HashMap<EntryId, bool>>,
}

/// A caller, by its return address.
#[derive(Debug)]
struct Caller {
    scope: Scope,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    target: Target,
    arguments: Vec<Argument>,
}

#[derive(Debug)]
enum Target {
    Function(EntryId),
    Computed(Program),
    Unknown,
}

#[derive(Debug)]
struct Argument {
    register: Option<u16>,
    parameter: Option<EntryId>,
    value: Option<Program>,
    /// What the argument pointed to.
    pointee: Option<Program>,
}

impl Scope {
    /// What is known of a frame from its address alone; `None` outside of all functions.
    pub(crate) fn at(units: &Units, frames: &Frames, pc: u64) -> Result<Option<Scope>, Error> {
        let Some(function) = units.function_at(pc)? else {
            return Ok(None);
        };
        let budget = budget();
        let frame_base = units
            .inherited(function, dw::DW_AT_frame_base)
            .map(
                |(owner, value)| match Place::expression_of(units, owner.unit, value, pc) {
                    Ok(Some((bytes, encoding))) => {
                        let decoder = Decoder {
                            units,
                            unit: Some(owner.unit),
                            encoding,
                            pc,
                            calls: 0,
                            budget: &budget,
                        };
                        Place::of_program(decoder.decode(bytes))
                    }
                    Ok(None) => Place::OptimisedOut,
                    Err(damage) => Place::IllFormed(Arc::from(damage.0)),
                },
            );
        let ranges = units.ranges(function).ok().flatten().unwrap_or_default();
        Ok(Some(Scope {
            function,
            entry: ranges.first().map_or(0, |(start, _)| *start),
            row: frames.row(units, pc).map_err(|damage| Arc::from(damage.0)),
            frame_base,
        }))
    }
}

/// The value that a register, or the memory it pointed to, had at the entry of the frame's function.
pub(crate) fn entry_value(frame: &Frame<'_>, source: EntrySource) -> Result<StackValue, Fault> {
    let (register, ty, pointee) = match source {
        EntrySource::Register(register) => (register, None, false),
        EntrySource::RegisterTyped(register, ty) => (register, Some(ty), false),
        EntrySource::Memory { register, bytes } => (
            register,
            Some(Type::Integer {
                bytes,
                signed: false,
            }),
            true,
        ),
        EntrySource::Unsupported => {
            return Err(Fault::unreadable("the entry value of more than a register"));
        }
    };
    let value = with_caller(frame, |caller, call| {
        let argument = call
            .arguments
            .iter()
            .find(|argument| argument.register == Some(register));
        let program = argument.and_then(|argument| {
            if pointee {
                argument.pointee.as_ref()
            } else {
                argument.value.as_ref()
            }
        });
        let program = program.ok_or_else(|| {
            Fault::unreadable(format!(
                "the call does not say what {} was",
                register_name(register)
            ))
        })?;
        caller.value(program, None)
    })?;
    match ty {
        Some(ty) if pointee => StackValue::new(ty, value.bits).convert(Type::Generic),
        Some(ty) if ty.bytes() == value.ty.bytes() => value.reinterpret(ty),
        Some(ty) if value.ty == Type::Generic => Ok(StackValue::new(ty, value.bits)),
        Some(ty) => Err(Fault::unreadable(format!(
            "the call gives a {} value where a {ty} one is wanted",
            value.ty
        ))),
        None => Ok(value),
    }
}

/// The value that the caller passed for a parameter that the function no longer has.
pub(crate) fn parameter(frame: &Frame<'_>, parameter: EntryId) -> Result<StackValue, Fault> {
    let units = frame.callers.units;
    with_caller(frame, |caller, call| {
        let same = |argument: &&Argument| {
            argument
                .parameter
                .is_some_and(|have| related(units, have, parameter))
        };
        let program = call
            .arguments
            .iter()
            .find(same)
            .and_then(|argument| argument.value.as_ref());
        let program = program.ok_or_else(|| {
            Fault::unreadable("the call does not say what the removed parameter was")
        })?;
        caller.value(program, None)
    })
}

fn with_caller<T>(
    frame: &Frame<'_>,
    use_caller: impl FnOnce(&Frame<'_>, &Call) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let callers = frame.callers;
    if frame.depth >= MAX_CALLERS {
        return Err(Fault::unreadable(format!(
            "the value comes from more than {MAX_CALLERS} callers away"
        )));
    }
    frame.step(UNWIND_COST)?;
    let saved = frame.unwind()?;
    let Some(return_address) = saved.last().copied().flatten() else {
        return Err(Fault::unreadable("the return address cannot be read"));
    };
    let stated = return_address.wrapping_sub(frame.machine.bias());
    let found = callers.caller_at(stated);
    let caller = match &*found {
        Ok(caller) => caller,
        Err(why) => return Err(Fault::unreadable(why.clone())),
    };
    let outer = Frame::new(
        callers,
        frame.machine,
        &caller.scope,
        Registers::Saved(Box::new(saved)),
        frame.depth + 1,
    );
    let mut refusal = Fault::unreadable("the caller does not describe this call");
    for call in &caller.calls {
        match callers.calls_this(call, frame, &outer) {
            Ok(()) => return use_caller(&outer, call),
            Err(fault) => refusal = fault,
        }
    }
    Err(refusal)
}

impl Callers<'_> {
    fn caller_at(&self, return_address: u64) -> Arc<Result<Caller, String>> {
        let known = |memory: &CallerMemory| {
            memory
                .by_return_address
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&return_address)
                .cloned()
        };
        if let Some(found) = known(self.memory) {
            return found;
        }
        let found = Arc::new(self.find_caller(return_address));
        let mut memory = self
            .memory
            .by_return_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        memory.entry(return_address).or_insert(found).clone()
    }

    fn find_caller(&self, return_address: u64) -> Result<Caller, String> {
        // The call ends where the return address starts: look its last byte up.
        let pc = return_address.wrapping_sub(1);
        let scope = Scope::at(self.units, self.frames, pc).map_err(|error| error.to_string())?;
        let scope = scope.ok_or("the caller has no debug information")?;
        let tree = self
            .units
            .tree(scope.function.unit)
            .map_err(|error| error.to_string())?;
        let unit = scope.function.unit;
        let calls = tree
            .calls_returning_to(return_address)
            .map(|index| self.call(EntryId { unit, index }, pc))
            .collect();
        Ok(Caller { scope, calls })
    }

    fn call(&self, id: EntryId, pc: u64) -> Call {
        let arguments = match self.units.tree(id.unit) {
            Ok(tree) => tree
                .children(id.index)
                .filter(|index| {
                    matches!(
                        tree.entry(*index).tag,
                        dw::DW_TAG_call_site_parameter | dw::DW_TAG_GNU_call_site_parameter
                    )
                })
                .map(|index| {
                    self.argument(
                        EntryId {
                            unit: id.unit,
                            index,
                        },
                        pc,
                    )
                })
                .collect(),
            Err(_) => Vec::new(),
        };
        Call {
            target: self.target(id, pc),
            arguments,
        }
    }

    fn target(&self, id: EntryId, pc: u64) -> Target {
        let origin = self
            .units
            .own(id, dw::DW_AT_call_origin)
            .or_else(|| self.units.own(id, dw::DW_AT_abstract_origin));
        if let Some(origin) = origin {
            return self
                .units
                .resolve(id.unit, origin)
                .map_or(Target::Unknown, Target::Function);
        }
        let computed = [dw::DW_AT_call_target, dw::DW_AT_GNU_call_site_target];
        computed
            .iter()
            .find_map(|name| self.program(id, *name, pc))
            .map_or(Target::Unknown, Target::Computed)
    }

    fn argument(&self, id: EntryId, pc: u64) -> Argument {
        let register = self
            .program(id, dw::DW_AT_location, pc)
            .and_then(|program| match program.ops.as_slice() {
                [Op::InRegister(register)] => Some(*register),
                _ => None,
            });
        let parameter = [dw::DW_AT_call_parameter, dw::DW_AT_abstract_origin]
            .iter()
            .find_map(|name| self.units.own(id, *name));
        Argument {
            register,
            parameter: parameter.and_then(|reference| self.units.resolve(id.unit, reference).ok()),
            value: self
                .program(id, dw::DW_AT_call_value, pc)
                .or_else(|| self.program(id, dw::DW_AT_GNU_call_site_value, pc)),
            pointee: self
                .program(id, dw::DW_AT_call_data_value, pc)
                .or_else(|| self.program(id, dw::DW_AT_GNU_call_site_data_value, pc)),
        }
    }

    fn program(&self, id: EntryId, name: gimli::DwAt, pc: u64) -> Option<Program> {
        let value = self.units.own(id, name)?;
        let (bytes, encoding) = Place::expression_of(self.units, id.unit, value, pc).ok()??;
        let budget = budget();
        let decoder = Decoder {
            units: self.units,
            unit: Some(id.unit),
            encoding,
            pc,
            calls: 0,
            budget: &budget,
        };
        Some(decoder.decode(bytes))
    }

    /// Whether the call is for certain the one that led to the frame.
    fn calls_this(&self, call: &Call, callee: &Frame<'_>, caller: &Frame<'_>) -> Result<(), Fault> {
        let function = callee.scope.function;
        match &call.target {
            Target::Function(target) if related(self.units, *target, function) => {}
            Target::Function(target)
                if self.is_declared_elsewhere(*target)
                    && self.units.name(*target) == self.units.name(function) => {}
            Target::Function(_) => {
                return Err(Fault::unreadable(
                    "the caller called another function, which ended in a tail call",
                ));
            }
            Target::Computed(program) => {
                let address = caller.value(program, None)?.address("DW_AT_call_target")?;
                if address != callee.scope.entry.wrapping_add(callee.machine.bias()) {
                    return Err(Fault::unreadable(
                        "the caller called another function, which ended in a tail call",
                    ));
                }
            }
            Target::Unknown => {
                return Err(Fault::unreadable(
                    "the caller does not say which function it called",
                ));
            }
        }
        if self.reaches_itself(function) {
            return Err(Fault::unreadable(
                "the function may have been entered again by a tail call",
            ));
        }
        Ok(())
    }

    fn is_declared_elsewhere(&self, id: EntryId) -> bool {
        self.units.own(id, dw::DW_AT_declaration).is_some()
    }

    /// Whether tail calls alone can lead from a function back to it.
    fn reaches_itself(&self, function: EntryId) -> bool {
        let memory = || {
            self.memory
                .reaches_itself
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(known) = memory().get(&function).copied() {
            return known;
        }
        let answer = self.search_tail_calls(function);
        memory().insert(function, answer);
        answer
    }

    fn search_tail_calls(&self, function: EntryId) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![function];
        while let Some(at) = open.pop() {
            let Ok(tree) = self.units.tree(at.unit) else {
                return true;
            };
            for index in at.index..tree.entry(at.index).end {
                let is_call = matches!(
                    tree.entry(index).tag,
                    dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site
                );
                let is_tail = tree.flag(index, dw::DW_AT_call_tail_call)
                    || tree.flag(index, dw::DW_AT_GNU_tail_call);
                if !is_call || !is_tail {
                    continue;
                }
                let Target::Function(target) = self.target(
                    EntryId {
                        unit: at.unit,
                        index,
                    },
                    0,
                ) else {
                    return true;
                };
                if related(self.units, target, function) {
                    return true;
                }
                for definition in self.definitions(target) {
                    if definition == function || seen.len() > MAX_TAIL_CALLED {
                        return true;
                    }
                    if seen.insert(definition) {
                        open.push(definition);
                    }
                }
            }
        }
        false
    }

    /// The functions with code that an entry for a function may stand for.
    fn definitions(&self, target: EntryId) -> Vec<EntryId> {
        let Ok(tree) = self.units.tree(target.unit) else {
            return Vec::new();
        };
        let mut found: Vec<EntryId> = (0..tree.len())
            .filter(|index| tree.entry(*index).tag == dw::DW_TAG_subprogram)
            .map(|index| EntryId {
                unit: target.unit,
                index,
            })
            .filter(|id| self.units.lineage(*id).any(|id| id == target))
            .filter(|id| matches!(self.units.ranges(*id), Ok(Some(_))))
            .collect();
        let named = self
            .units
            .name(target)
            .and_then(|name| self.file.symbol(&name));
        found.extend(
            named.and_then(|symbol| self.units.function_at(symbol.address.0).ok().flatten()),
        );
        found
    }
}

/// Whether two entries are instances of one function or parameter of the source.
fn related(units: &Units, a: EntryId, b: EntryId) -> bool {
    units.lineage(a).any(|a| units.lineage(b).any(|b| a == b))
}

/// A register's name by its DWARF number.
pub(crate) fn register_name(register: u16) -> String {
    const GENERAL: [&str; 17] = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15", "rip",
    ];
    match register {
        0..=16 => GENERAL[usize::from(register)].to_owned(),
        17..=32 => format!("xmm{}", register - 17),
        33..=40 => format!("st{}", register - 33),
        other => format!("register {other}"),
    }
}

//! Calls and returns of a run without barriers: which functions have not returned, and which functions of other files
//! were called. Two builds of one program share little else to count time by.

use std::collections::{BTreeSet, HashMap};

use candor_dwarf::{Image, Svma};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

use crate::error::Result;
use crate::process::Tracee;
use crate::run::{Activation, BARRIER, FOLLOWED};

/// Bytes below a new frame that are filled.
const FILL: u64 = 2048;
/// Entries of a linkage table are aligned to this.
const STUB: u64 = 16;

/// What is known of the calls of a run.
pub(crate) struct Follow {
    entries: HashMap<u64, u32>,
    stubs: HashMap<u64, u32>,
    names: Vec<String>,
    /// By number of the function.
    calls: Vec<u32>,
    serial: u32,
    /// How often an entry was reached that may have been none.
    again: u32,
    pub(crate) stack: Vec<Activation>,
    fill: Option<u8>,
}

/// What happens at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Entered,
    Called,
}

impl Follow {
    /// Sets breakpoints at every entry of a function and at every entry of the linkage tables.
    pub(crate) fn new(
        image: &Image,
        tracee: &mut Tracee,
        bias: u64,
        fill: Option<u8>,
    ) -> Result<Self> {
        let mut follow = Follow {
            entries: HashMap::new(),
            stubs: HashMap::new(),
            names: Vec::new(),
            calls: Vec::new(),
            serial: 0,
            again: 0,
            stack: Vec::new(),
            fill,
        };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut number = |name: &str| {
            *numbers.entry(name.to_owned()).or_insert_with(|| {
                follow.names.push(name.to_owned());
                follow.names.len() as u32 - 1
            })
        };
        // functions of headers are no business of the user's, and there may be calls of them without end
        let statements = image.statement_stops()?;
        let is_own = |entry: Svma| {
            statements
                .binary_search_by_key(&entry, |stop| stop.pc)
                .is_ok()
        };
        for (entry, name) in image.entries()? {
            if !is_own(entry) {
                continue;
            }
            let address = entry.loaded(bias).0;
            follow.entries.insert(address, number(&name));
        }
        let mut stubs = stubs(image);
        if let Some(barrier) = image.symbol(BARRIER) {
            stubs.push((barrier.address, BARRIER.to_owned()));
        }
        for (stub, name) in stubs {
            let address = stub.loaded(bias).0;
            if !follow.entries.contains_key(&address) {
                follow.stubs.insert(address, number(&name));
            }
        }
        follow.calls = vec![0; follow.names.len()];
        for address in follow.entries.keys().chain(follow.stubs.keys()) {
            tracee.insert_breakpoint(*address)?;
        }
        Ok(follow)
    }

    /// Whether a breakpoint is needed here whatever the statements are.
    pub(crate) fn wants(&self, address: u64) -> bool {
        self.entries.contains_key(&address) || self.stubs.contains_key(&address)
    }

    /// Takes note of where the program is; what happens there, and with which function.
    pub(crate) fn at(
        &mut self,
        address: u64,
        stack: u64,
        tracee: &mut Tracee,
    ) -> Option<(Happening, &str)> {
        // a frame is gone once the stack pointer is above its return address
        while self.stack.last().is_some_and(|top| top.stack < stack) {
            self.stack.pop();
        }
        if let Some(number) = self.stubs.get(&address) {
            let name = self.names.get(*number as usize)?;
            *self.calls.get_mut(*number as usize)? += 1;
            return Some((Happening::Called, name));
        }
        let number = *self.entries.get(&address)?;
        let again = |top: &Activation| top.function == number && top.stack == stack;
        let calls = self.calls.get_mut(number as usize)?;
        if self.stack.last().is_some_and(again) {
            // a loop back to the first instruction, a tail call of itself, or a caller that is no longer stopped in: it
            // is not known which, and of one that does so without end nothing is to be known
            self.again += 1;
            if self.again >= FOLLOWED {
                *calls = FOLLOWED;
            }
            return None;
        }
        self.stack.push(Activation {
            function: number,
            number: *calls,
            serial: self.serial,
            stack,
        });
        *calls += 1;
        self.serial += 1;
        if let Some(byte) = self.fill {
            tracee.memory.fill(stack.saturating_sub(FILL), stack, byte);
        }
        let name = self.names.get(number as usize)?;
        Some((Happening::Entered, name))
    }

    /// Whether what happens at an address has happened so often that it is no longer followed; from now on it is not.
    pub(crate) fn has_enough(&mut self, address: u64) -> bool {
        let number = self.stubs.get(&address).or(self.entries.get(&address));
        let calls = number.and_then(|number| self.calls.get(*number as usize));
        if calls.is_none_or(|calls| *calls < FOLLOWED) {
            return false;
        }
        self.stubs.remove(&address);
        self.entries.remove(&address);
        true
    }
}

/// The entries of the linkage tables, each with the function it leads to.
fn stubs(image: &Image) -> Vec<(Svma, String)> {
    let linkage = image.linkage();
    let mut found = Vec::new();
    for (section, start, bytes) in image.code() {
        if !section.starts_with(".plt") {
            continue;
        }
        for instruction in Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE) {
            if instruction.code() == Code::Jmp_rm64
                && instruction.is_ip_rel_memory_operand()
                && let Some(name) = linkage.get(&Svma(instruction.ip_rel_memory_address()))
            {
                found.push((
                    Svma(instruction.ip() - instruction.ip() % STUB),
                    name.clone(),
                ));
            }
        }
    }
    found
}

/// Addresses between two stores to one place of the frame that belong to one statement, so that no value is missed that
/// a variable has only in the middle of one. `rows` are where statements begin, in order. For unoptimised code, where
/// every assignment is a store.
pub(crate) fn between_stores(image: &Image, rows: &[u64]) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for (section, start, bytes) in image.code() {
        if section.starts_with(".plt") {
            continue;
        }
        let mut row = 0;
        let mut block: Vec<Instruction> = Vec::new();
        for instruction in Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE) {
            let here = rows.partition_point(|row| *row <= instruction.ip());
            if here != row {
                collect(&block, &mut found);
                block.clear();
                row = here;
            }
            if row > 0 {
                block.push(instruction);
            }
        }
        collect(&block, &mut found);
    }
    found
}

/// The address behind each store of a statement that stores there again, or that loops.
fn collect(block: &[Instruction], found: &mut BTreeSet<u64>) {
    let (Some(first), Some(last)) = (block.first(), block.last()) else {
        return;
    };
    let loops = block.iter().any(|instruction| {
        let jumps = matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        jumps && (first.ip()..=instruction.ip()).contains(&instruction.near_branch_target())
    });
    let place = |instruction: &Instruction| {
        let stores = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Memory
            && instruction.memory_base() == Register::RBP
            && instruction.memory_index() == Register::None;
        stores.then(|| instruction.memory_displacement64())
    };
    for (number, instruction) in block.iter().enumerate() {
        let Some(at) = place(instruction) else {
            continue;
        };
        let again = || {
            let rest = block.get(number + 1..).unwrap_or_default();
            rest.iter().any(|later| place(later) == Some(at))
        };
        if instruction.ip() != last.ip() && (loops || again()) {
            found.insert(instruction.next_ip());
        }
    }
}

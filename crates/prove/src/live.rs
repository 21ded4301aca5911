//! The source program on the memory of a running one: what its variables are at each visit of a loop head.
//!
//! For `repair`, which shows what a debugger would have to say at each instruction of the machine program.

use rustc_hash::FxHashMap;

use crate::domain::Concrete;
use crate::ir::{BlockId, Env, Function, Operand, SourceMemory, Val};
use crate::trace::{SourceVisit, run_source};
use crate::x86::Unsupported;

/// Where the source program gets what it reads.
pub trait Surroundings {
    /// The address of a global.
    fn global(&self, name: &str) -> Option<u64>;
    /// A byte of memory.
    fn byte(&self, address: u64) -> Option<u8>;
}

/// Memory as it was at the start, and what was written since.
struct Overlay<'a> {
    surroundings: &'a dyn Surroundings,
    written: FxHashMap<u64, u8>,
}

impl SourceMemory<Concrete> for Overlay<'_> {
    fn global(&mut self, _: &mut Concrete, name: &str) -> Result<u64, Unsupported> {
        self.surroundings
            .global(name)
            .ok_or_else(|| Unsupported(format!("the global `{name}`, which the program lacks")))
    }

    fn load(
        &mut self,
        _: &mut Concrete,
        address: u64,
        bytes: u8,
        _: Option<&str>,
    ) -> Result<u64, Unsupported> {
        let mut value = 0;
        for index in 0..u64::from(bytes) {
            let at = address.wrapping_add(index);
            let byte = match self.written.get(&at) {
                Some(byte) => *byte,
                None => self
                    .surroundings
                    .byte(at)
                    .ok_or_else(|| Unsupported(format!("a read of {at:#x}, which is no memory")))?,
            };
            value |= u64::from(byte) << (8 * index);
        }
        Ok(value)
    }

    fn store(
        &mut self,
        _: &mut Concrete,
        address: u64,
        bytes: u8,
        value: u64,
        _: Option<&str>,
    ) -> Result<(), Unsupported> {
        for index in 0..u64::from(bytes) {
            self.written
                .insert(address.wrapping_add(index), (value >> (8 * index)) as u8);
        }
        Ok(())
    }

    fn call(
        &mut self,
        _: &mut Concrete,
        callee: &str,
        _: &[(u64, u8)],
        _: Option<u8>,
    ) -> Result<Option<u64>, Unsupported> {
        Err(Unsupported(format!("the call of `{callee}`")))
    }
}

/// A run of the source.
pub struct SourceRun {
    /// Visits of loop heads, the return last.
    pub visits: Vec<SourceVisit>,
    /// Values that variables took: the number of visits before, name, line of the declaration, value.
    pub taken: Vec<(usize, String, u32, u64)>,
}

/// Runs a function of the source.
pub fn run(
    function: &Function,
    params: &[u64],
    surroundings: &dyn Surroundings,
) -> Result<SourceRun, String> {
    let mut memory = Overlay {
        surroundings,
        written: FxHashMap::default(),
    };
    let mut d = Concrete::default();
    let mut taken = Vec::new();
    let mut note = |visits: usize, block: BlockId, env: &Env<Concrete>| {
        for record in &function.block(block).variables {
            let value = match &record.value {
                Operand::Number(number) => Some(*number),
                Operand::Value(id) => match env.get(id.0 as usize) {
                    Some(Some(Val::Int(value))) => Some(*value),
                    Some(Some(Val::Bit(bit))) => Some(u64::from(*bit)),
                    _ => None,
                },
                Operand::Global(name, offset) => surroundings
                    .global(name)
                    .map(|at| at.wrapping_add_signed(*offset)),
            };
            if let Some(value) = value {
                taken.push((visits, record.name.clone(), record.declared, value));
            }
        }
    };
    match run_source(function, &mut d, &mut memory, params, &|_| 0, &mut note) {
        Ok(Some(visits)) => Ok(SourceRun { visits, taken }),
        Ok(None) => Err("the source runs too long".to_owned()),
        Err(unsupported) => Err(format!("not supported: {}", unsupported.0)),
    }
}

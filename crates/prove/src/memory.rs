//! Symbolic memory: a list of stores over a shared initial memory, in cells of one size.
//!
//! *Why no arrays:* a solver given the two memories as arrays answers "unknown" for the simplest loop. Here a load
//! looks back through the stores and decides for each whether it is the same cell, another one, or possibly
//! the same; only such scalar questions ever reach a solver (design: repair.md, step 2).
//!
//! The machine's stack frame is apart: it is private to the machine program (the source keeps its locals in
//! registers, or is not supported), addressed by a constant offset from the entry's rsp.

use std::collections::BTreeMap;

use crate::image::{Image, Symbol};
use crate::ir::{SourceMemory, Val};
use crate::term::{Bool, Bv, TRUE, Terms};
use crate::x86::{Memory, Place, Unsupported};

/// Stores that a load may or may not meet, at most.
const MOST_ALIASES: usize = 12;

/// What both programs live in.
#[derive(Debug)]
pub struct World<'a> {
    /// The object or executable.
    pub image: &'a Image,
    /// The globals that the source function names.
    pub objects: Vec<Symbol>,
    /// Addresses of the units.
    pub bases: Vec<Bv>,
    /// rsp at the entry.
    pub rsp: Bv,
    /// Parameters declared `restrict`.
    pub no_alias: Vec<Bv>,
    /// Bytes of a cell.
    pub grain: u8,
}

/// An opaque call that was made.
#[derive(Clone, Debug)]
pub struct Called {
    /// Which function.
    pub callee: String,
    /// Its arguments.
    pub arguments: Vec<Bv>,
    /// The memory it saw.
    pub before: Vec<(Bv, Bv)>,
    /// The epoch of that memory.
    pub epoch: u32,
}

/// An access to memory outside of the frame, and the condition under which it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The cell.
    pub address: Bv,
    /// When.
    pub guard: Bool,
}

/// The memory of one program on one path.
#[derive(Clone, Debug)]
pub struct SymMemory {
    /// Cells stored since the epoch began, in order.
    pub stores: Vec<(Bv, Bv)>,
    /// The frame: four-byte cells by offset from the entry's rsp.
    pub stack: BTreeMap<i64, Bv>,
    /// Calls so far.
    pub calls: Vec<Called>,
    /// Accesses so far.
    pub touches: Vec<Touch>,
    /// What must hold so that the machine does not trap.
    pub obligations: Vec<Bool>,
    /// The condition of what is executed now.
    pub guard: Bool,
    /// Whether that condition depends on data, so that paths with and without it are joined.
    pub conditional: bool,
    /// Who stores now: the machine's instruction, or the number of the source step.
    pub writer: u64,
    /// Which cells were stored by whom. Not part of the memory: told with a proof, no proof rests on it.
    pub trail: Vec<(Bv, u64)>,
}

impl Default for SymMemory {
    fn default() -> Self {
        SymMemory {
            stores: Vec::new(),
            stack: BTreeMap::new(),
            calls: Vec::new(),
            touches: Vec::new(),
            obligations: Vec::new(),
            guard: TRUE,
            conditional: false,
            writer: 0,
            trail: Vec::new(),
        }
    }
}

/// How two cells relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alias {
    Same,
    Apart,
    Unknown,
}

type Result<T> = std::result::Result<T, Unsupported>;

impl World<'_> {
    /// The place of an address that is constant within a unit.
    fn place(&self, t: &mut Terms, address: Bv) -> Option<Place> {
        if let Some(number) = t.as_constant(address) {
            let unit = None;
            return Some(Place {
                unit,
                offset: number as i64,
            });
        }
        for (unit, base) in self.bases.iter().enumerate() {
            if t.coefficient(*base, address) == Some(1) {
                let offset = t.sub(address, *base);
                return t.as_integer(offset).map(|offset| Place {
                    unit: Some(unit as u32),
                    offset,
                });
            }
        }
        None
    }

    /// The global that a whole cell at this address lies in, where that is known.
    pub fn object(&self, t: &mut Terms, address: Bv) -> Option<u32> {
        if let Some(known) = t.context.object(address) {
            return Some(known);
        }
        let mut unit = None;
        let mut rest = address;
        for (index, base) in self.bases.iter().enumerate() {
            if t.coefficient(*base, address) == Some(1) {
                unit = Some(index as u32);
                rest = t.sub(address, *base);
                break;
            }
        }
        if unit.is_none() && !self.image.fixed {
            return None;
        }
        if !t.fits(rest) {
            return None;
        }
        let (low, high) = t.range(rest);
        self.objects
            .iter()
            .position(|object| {
                object.place.unit == unit
                    && low >= i128::from(object.place.offset)
                    && high + i128::from(self.grain)
                        <= i128::from(object.place.offset) + i128::from(object.size)
            })
            .map(|index| index as u32)
    }

    fn based_on(&self, t: &Terms, address: Bv) -> Vec<Bv> {
        self.no_alias
            .iter()
            .filter(|param| t.coefficient(**param, address).is_some())
            .copied()
            .collect()
    }

    fn alias(&self, t: &mut Terms, a: Bv, b: Bv) -> Result<Alias> {
        if a == b {
            return Ok(Alias::Same);
        }
        let grain = i64::from(self.grain);
        let difference = t.sub(a, b);
        if let Some(distance) = t.as_integer(difference) {
            return if distance == 0 {
                Ok(Alias::Same)
            } else if distance.unsigned_abs() >= grain as u64 {
                Ok(Alias::Apart)
            } else {
                Err(Unsupported("accesses that overlap in part".to_owned()))
            };
        }
        if t.fits(difference) {
            let (low, high) = t.range(difference);
            if low >= i128::from(grain) || high <= -i128::from(grain) {
                return Ok(Alias::Apart);
            }
        }
        if let (Some(x), Some(y)) = (self.object(t, a), self.object(t, b))
            && x != y
        {
            return Ok(Alias::Apart);
        }
        let (on_a, on_b) = (self.based_on(t, a), self.based_on(t, b));
        if on_a != on_b && on_a.len() < 2 && on_b.len() < 2 {
            return Ok(Alias::Apart);
        }
        // |a - b| < grain, as one unsigned comparison
        let shifted = t.offset(difference, grain - 1);
        let window = t.constant(2 * grain as u64 - 1, 64);
        let overlap = t.ult(shifted, window);
        if t.infeasible(overlap) {
            return Ok(Alias::Apart);
        }
        let zero = t.constant(0, 64);
        let equal = t.eq(difference, zero);
        if t.valid(equal) {
            return Ok(Alias::Same);
        }
        let low = t.constant(grain as u64 - 1, 64);
        let misaligned = t.and(difference, low);
        let aligned = t.eq(misaligned, zero);
        if !t.valid(aligned) {
            return Err(Unsupported("accesses that may overlap in part".to_owned()));
        }
        Ok(Alias::Unknown)
    }

    /// The content of one cell.
    pub fn cell(&self, t: &mut Terms, stores: &[(Bv, Bv)], epoch: u32, address: Bv) -> Result<Bv> {
        let bits = self.grain * 8;
        let mut possible: Vec<(Bv, Bv)> = Vec::new();
        let mut base = None;
        for (at, value) in stores.iter().rev() {
            match self.alias(t, address, *at)? {
                Alias::Same => {
                    base = Some(*value);
                    break;
                }
                Alias::Apart => {}
                Alias::Unknown => possible.push((*at, *value)),
            }
        }
        if possible.len() > MOST_ALIASES {
            return Err(Unsupported(format!(
                "a load that may read any of {} earlier stores",
                possible.len()
            )));
        }
        let mut content = base.unwrap_or_else(|| t.cell(address, epoch, bits));
        for (at, value) in possible.into_iter().rev() {
            let equal = t.eq(address, at);
            content = t.ite(equal, value, content);
        }
        Ok(content)
    }

    fn cells(&self, t: &mut Terms, address: Bv, bytes: u8) -> Result<Vec<Bv>> {
        if bytes < self.grain {
            return Err(Unsupported(
                "an access smaller than those of the source".to_owned(),
            ));
        }
        Ok((0..bytes / self.grain)
            .map(|index| t.offset(address, i64::from(index * self.grain)))
            .collect())
    }

    fn load(&self, t: &mut Terms, memory: &mut SymMemory, address: Bv, bytes: u8) -> Result<Bv> {
        if let Some(place) = self.place(t, address)
            && let Some(constant) = self.image.constant(place, bytes)
        {
            let mut number = [0; 8];
            number[..constant.len()].copy_from_slice(constant);
            return Ok(t.constant(u64::from_le_bytes(number), bytes * 8));
        }
        let epoch = memory.epoch();
        let mut parts = Vec::new();
        for cell in self.cells(t, address, bytes)? {
            memory.touch(cell);
            parts.push(self.cell(t, &memory.stores, epoch, cell)?);
        }
        Ok(t.concat(&parts))
    }

    fn store(
        &self,
        t: &mut Terms,
        memory: &mut SymMemory,
        address: Bv,
        bytes: u8,
        value: Bv,
    ) -> Result<()> {
        let bits = self.grain * 8;
        for (index, cell) in self.cells(t, address, bytes)?.into_iter().enumerate() {
            memory.touch(cell);
            let part = t.extract(value, index as u8 * bits, bits);
            memory.stores.push((cell, part));
            memory.trail.push((cell, memory.writer));
        }
        Ok(())
    }
}

impl SymMemory {
    /// The epoch: the number of calls so far.
    pub fn epoch(&self) -> u32 {
        self.calls.len() as u32
    }

    fn touch(&mut self, address: Bv) {
        let touch = Touch {
            address,
            guard: self.guard,
        };
        if !self.touches.contains(&touch) {
            self.touches.push(touch);
        }
    }

    /// Makes an opaque call: what it sees is recorded, memory is unknown afterwards, and its result is a
    /// variable that both programs share.
    pub fn call(
        &mut self,
        t: &mut Terms,
        callee: &str,
        arguments: Vec<Bv>,
        result: Option<u8>,
    ) -> Result<Option<Bv>> {
        if self.conditional {
            return Err(Unsupported(format!(
                "the call of `{callee}`, which happens only under a condition within a loop iteration"
            )));
        }
        let epoch = self.epoch();
        let before = std::mem::take(&mut self.stores);
        self.calls.push(Called {
            callee: callee.to_owned(),
            arguments,
            before,
            epoch,
        });
        let number = self.calls.len();
        Ok(result.map(|width| t.var(&format!("call{number}"), width)))
    }
}

/// The machine's view of memory.
pub struct MachineView<'a, 'w> {
    /// What both programs live in.
    pub world: &'a World<'w>,
    /// The memory.
    pub memory: &'a mut SymMemory,
}

impl MachineView<'_, '_> {
    /// The offset from the entry's rsp, for addresses in the frame.
    fn frame_offset(&self, t: &mut Terms, address: Bv) -> Result<Option<i64>> {
        if t.coefficient(self.world.rsp, address).is_none() {
            return Ok(None);
        }
        let difference = t.sub(address, self.world.rsp);
        match t.as_integer(difference) {
            Some(offset) => Ok(Some(offset)),
            None => Err(Unsupported(
                "an access to the stack at a variable place".to_owned(),
            )),
        }
    }
}

impl Memory<Terms> for MachineView<'_, '_> {
    fn load(&mut self, t: &mut Terms, address: Bv, bytes: u8) -> Result<Bv> {
        let Some(offset) = self.frame_offset(t, address)? else {
            return self.world.load(t, self.memory, address, bytes);
        };
        let mut parts = Vec::new();
        for at in (offset & !3..offset + i64::from(bytes)).step_by(4) {
            let cell = match self.memory.stack.get(&at) {
                Some(cell) => *cell,
                None => t.var(&format!("frame{at}"), 32),
            };
            parts.push(cell);
        }
        let skip = (offset & 3) as u8 * 8;
        if parts.len() > 2 {
            return Err(Unsupported("a misaligned access to the stack".to_owned()));
        }
        let whole = t.concat(&parts);
        Ok(t.extract(whole, skip, bytes * 8))
    }

    fn store(&mut self, t: &mut Terms, address: Bv, bytes: u8, value: Bv) -> Result<()> {
        let Some(offset) = self.frame_offset(t, address)? else {
            return self.world.store(t, self.memory, address, bytes, value);
        };
        if offset + i64::from(bytes) > 0 {
            return Err(Unsupported("a store above the stack frame".to_owned()));
        }
        if offset & 3 != 0 || bytes < 4 {
            let at = offset & !3;
            let inside = (offset & 3) as u8;
            if inside + bytes > 4 {
                return Err(Unsupported("a misaligned access to the stack".to_owned()));
            }
            let old = match self.memory.stack.get(&at) {
                Some(cell) => *cell,
                None => t.var(&format!("frame{at}"), 32),
            };
            let mut parts = Vec::new();
            if inside > 0 {
                parts.push(t.extract(old, 0, inside * 8));
            }
            parts.push(value);
            let end = inside + bytes;
            if end < 4 {
                parts.push(t.extract(old, end * 8, (4 - end) * 8));
            }
            let cell = t.concat(&parts);
            self.memory.stack.insert(at, cell);
            return Ok(());
        }
        for index in 0..bytes / 4 {
            let part = t.extract(value, index * 32, 32);
            self.memory
                .stack
                .insert(offset + i64::from(index) * 4, part);
        }
        Ok(())
    }
}

/// The source's view of memory.
pub struct SourceView<'a, 'w> {
    /// What both programs live in.
    pub world: &'a World<'w>,
    /// The memory.
    pub memory: &'a mut SymMemory,
}

impl SourceView<'_, '_> {
    /// The source accesses this address in an object: it lies there, whatever the indices are.
    fn learn(&self, t: &mut Terms, address: Bv, bytes: u8, object: Option<&str>) {
        let Some(object) = object else { return };
        let index = self
            .world
            .objects
            .iter()
            .position(|symbol| symbol.name == object && symbol.size >= u64::from(bytes));
        let Some(index) = index else { return };
        for part in 0..bytes / self.world.grain {
            let cell = t.offset(address, i64::from(part * self.world.grain));
            if t.as_constant(cell).is_none() {
                t.context.note_object(cell, index as u32);
            }
        }
    }
}

impl SourceMemory<Terms> for SourceView<'_, '_> {
    fn global(&mut self, t: &mut Terms, name: &str) -> Result<Bv> {
        let Some(symbol) = self.world.image.symbols.get(name) else {
            return Err(Unsupported(format!(
                "the global `{name}`, which the object does not have"
            )));
        };
        let offset = t.integer(symbol.place.offset, 64);
        Ok(match symbol.place.unit {
            Some(unit) => {
                let base = self.world.bases[unit as usize];
                t.add(base, offset)
            }
            None => offset,
        })
    }

    fn load(&mut self, t: &mut Terms, address: Bv, bytes: u8, object: Option<&str>) -> Result<Bv> {
        self.learn(t, address, bytes, object);
        self.world.load(t, self.memory, address, bytes)
    }

    fn store(
        &mut self,
        t: &mut Terms,
        address: Bv,
        bytes: u8,
        value: Bv,
        object: Option<&str>,
    ) -> Result<()> {
        self.learn(t, address, bytes, object);
        self.world.store(t, self.memory, address, bytes, value)
    }

    fn call(
        &mut self,
        t: &mut Terms,
        callee: &str,
        arguments: &[(Bv, u8)],
        result: Option<u8>,
    ) -> Result<Option<Bv>> {
        let values = arguments.iter().map(|(value, _)| *value).collect();
        self.memory.call(t, callee, values, result)
    }
}

/// Chooses between values by conditions that exclude each other and cover all cases.
pub fn pick(t: &mut Terms, conditions: &[Bool], values: &[Bv]) -> Bv {
    let mut chosen = values[values.len() - 1];
    for index in (0..values.len() - 1).rev() {
        chosen = t.ite(conditions[index], values[index], chosen);
    }
    chosen
}

/// Chooses between values of the IR.
pub fn pick_value(t: &mut Terms, conditions: &[Bool], values: &[Val<Terms>]) -> Val<Terms> {
    let mut chosen = values[values.len() - 1];
    for index in (0..values.len() - 1).rev() {
        let condition = conditions[index];
        chosen = match (values[index], chosen) {
            (Val::Int(a), Val::Int(b)) => Val::Int(t.ite(condition, a, b)),
            (Val::Bit(a), Val::Bit(b)) => {
                use crate::domain::Domain;
                Val::Bit(t.choose(condition, a, b))
            }
            (_, other) => other,
        };
    }
    chosen
}

/// Joins memories of paths that come together.
pub fn merge(
    world: &World<'_>,
    t: &mut Terms,
    conditions: &[Bool],
    memories: &[SymMemory],
) -> Result<SymMemory> {
    let first = &memories[0];
    if memories.iter().any(|m| m.calls.len() != first.calls.len()) {
        return Err(Unsupported(
            "calls on one of two paths that come together".to_owned(),
        ));
    }
    let shared = (0..first.stores.len())
        .take_while(|index| {
            memories
                .iter()
                .all(|m| m.stores.get(*index) == first.stores.get(*index))
        })
        .count();
    let mut merged = SymMemory {
        stores: first.stores[..shared].to_vec(),
        stack: BTreeMap::new(),
        calls: first.calls.clone(),
        touches: Vec::new(),
        obligations: Vec::new(),
        guard: TRUE,
        conditional: false,
        writer: 0,
        trail: Vec::new(),
    };
    let mut addresses: Vec<Bv> = Vec::new();
    for memory in memories {
        for (address, _) in &memory.stores[shared..] {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        for obligation in &memory.obligations {
            if !merged.obligations.contains(obligation) {
                merged.obligations.push(*obligation);
            }
        }
        for touch in &memory.touches {
            if !merged.touches.contains(touch) {
                merged.touches.push(*touch);
            }
        }
        for entry in &memory.trail {
            if !merged.trail.contains(entry) {
                merged.trail.push(*entry);
            }
        }
    }
    let epoch = merged.epoch();
    let mut joined = Vec::new();
    for address in addresses {
        let mut values = Vec::new();
        for memory in memories {
            values.push(world.cell(t, &memory.stores, epoch, address)?);
        }
        joined.push((address, pick(t, conditions, &values)));
    }
    merged.stores.extend(joined);
    let offsets: std::collections::BTreeSet<i64> = memories
        .iter()
        .flat_map(|memory| memory.stack.keys().copied())
        .collect();
    for offset in offsets {
        let values: Vec<Bv> = memories
            .iter()
            .map(|memory| match memory.stack.get(&offset) {
                Some(cell) => *cell,
                None => t.var(&format!("frame{offset}"), 32),
            })
            .collect();
        let cell = pick(t, conditions, &values);
        merged.stack.insert(offset, cell);
    }
    Ok(merged)
}

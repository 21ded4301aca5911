//! The recorder: what watched functions were called with, turned into events on instructions.
//!
//! Addresses are reused, so an instruction's identity is an [`InstId`] that lasts from its constructor
//! to its destructor. Everything here runs inside a pass, between the entry of a watched function and
//! its first own instruction: it must not change what the pass sees, and calls of ours into the
//! library must not be recorded (the recorder is taken away while it works).

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

use candor_dwarf::{Avma, Svma};
use rustc_hash::FxHashMap;

use crate::api::{Api, Ref};
use crate::event::{Deed, Event, Insertion, InstId, Recording, StackId};
use crate::hooks::{Hook, Target};
use crate::layout::{Layout, word};
use crate::thunk::Registers;
use crate::walk::{Frame, Next, Steps, in_this_program};

/// Frames kept per stack: enough to get out of IR infrastructure and see who called the pass's helper.
const FRAMES: usize = 12;
/// A list longer than this is taken for a broken one.
const LONGEST_LIST: usize = 1 << 20;

/// The recorder that is at work in this process; null when nothing is recorded.
static ACTIVE: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// Called by the thunks on entry of the watched function in `slot`.
pub(crate) extern "C" fn candor_enter(slot: usize, registers: *const Registers) {
    let active = ACTIVE.swap(std::ptr::null_mut(), Ordering::Relaxed);
    if active.is_null() {
        return;
    }
    // SAFETY: set by `while_recording`, which keeps the recorder alive and on this thread; the thunk
    // passes its own stack.
    unsafe { (*active).enter(slot, &*registers) };
    ACTIVE.store(active, Ordering::Relaxed);
}

/// Records what happens to the instructions of one module.
#[derive(Debug)]
pub struct Recorder<'a> {
    api: &'a Api,
    layout: Layout,
    hooks: &'a [Watched],
    /// The functions inside which nothing more is recorded.
    tellers: Vec<std::ops::Range<usize>>,
    bias: u64,
    recording: Recording,
    live: FxHashMap<usize, InstId>,
    addresses: Vec<usize>,
    /// The source of a clone whose constructor has not run yet.
    armed: Option<InstId>,
    /// An instruction that is being inserted: its neighbours are known at the next event.
    pending: Option<(InstId, usize, bool)>,
    inserting_after: usize,
    /// Per list, the last terminator that left it.
    last_terminator: FxHashMap<usize, InstId>,
    stacks: FxHashMap<Vec<Svma>, StackId>,
    steps: Option<&'a Steps>,
}

/// A watched function in this process.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What it does.
    pub hook: Hook,
    /// First and one past the last address in the process.
    pub range: std::ops::Range<usize>,
}

impl Watched {
    /// Where `target` is in a process with this load address.
    pub fn new(target: &Target, bias: u64) -> Self {
        let start = target.start.loaded(bias).0 as usize;
        Watched {
            hook: target.hook,
            range: start..start + target.size.max(1) as usize,
        }
    }
}

impl<'a> Recorder<'a> {
    /// A recorder that knows no instruction yet.
    pub fn new(
        api: &'a Api,
        layout: Layout,
        hooks: &'a [Watched],
        bias: u64,
        steps: Option<&'a Steps>,
    ) -> Self {
        Recorder {
            api,
            layout,
            hooks,
            tellers: hooks
                .iter()
                .filter(|one| {
                    matches!(
                        one.hook,
                        Hook::Merge
                            | Hook::Drop
                            | Hook::CopyMetadata
                            | Hook::SetMetadata
                            | Hook::Clone
                    )
                })
                .map(|one| one.range.clone())
                .collect(),
            bias,
            recording: Recording::default(),
            live: FxHashMap::default(),
            addresses: Vec::new(),
            armed: None,
            pending: None,
            inserting_after: 0,
            last_terminator: FxHashMap::default(),
            stacks: FxHashMap::default(),
            steps,
        }
    }

    /// Makes an instruction of the input known.
    pub fn register(&mut self, address: usize) -> InstId {
        self.add(address, false)
    }

    /// Records while `run` works.
    pub fn while_recording<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let this: *mut Recorder<'a> = self;
        ACTIVE.store(this.cast(), Ordering::Relaxed);
        let result = run();
        ACTIVE.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the module is still alive, as is everything the recorder knows to be live.
        unsafe { self.settle() };
        result
    }

    /// Who lives at `address` now.
    pub fn at(&self, address: usize) -> Option<InstId> {
        self.live.get(&address).copied()
    }

    /// What was recorded.
    pub fn finish(self) -> Recording {
        self.recording
    }

    fn add(&mut self, address: usize, new: bool) -> InstId {
        let id = InstId(u32::try_from(self.addresses.len()).unwrap_or(u32::MAX));
        self.addresses.push(address);
        self.recording.new.push(new);
        self.live.insert(address, id);
        id
    }

    fn push(&mut self, deed: Deed, on: InstId, other: Option<InstId>, stack: Option<StackId>) {
        self.recording.events.push(Event {
            deed,
            on,
            other,
            stack,
        });
    }

    /// Whether the call comes from inside another watched function that tells the whole story.
    fn nested(&self, return_address: usize) -> bool {
        self.tellers
            .iter()
            .any(|range| range.contains(&return_address))
    }

    /// # Safety
    /// Called on entry of the function watched in `slot`, with its arguments.
    unsafe fn enter(&mut self, slot: usize, registers: &Registers) {
        let Some(watched) = self.hooks.get(slot) else {
            return;
        };
        let hook = watched.hook;
        let this = registers.rdi;
        // SAFETY: pending instructions are alive until their removal, which is an event of its own.
        unsafe { self.settle() };
        match hook {
            Hook::Construct => {
                let id = self.add(this, true);
                let stack = Some(self.stack(registers));
                match self.armed.take() {
                    Some(source) => self.push(Deed::Clone, id, Some(source), stack),
                    None => self.push(Deed::Create, id, None, stack),
                }
            }
            Hook::Destroy => {
                self.live.remove(&this);
            }
            Hook::DestroyBlock => {
                self.last_terminator.remove(&(this + self.layout.list));
                self.recording.dead_blocks.insert(this as u64);
            }
            Hook::Clone => self.armed = self.at(this),
            Hook::Insert => {
                if let Some(id) = self.at(registers.rsi) {
                    let after = self.inserting_after == registers.rsi;
                    self.inserting_after = 0;
                    self.pending = Some((id, this, after));
                }
            }
            Hook::InsertAfter => self.inserting_after = this,
            // SAFETY: the argument is a live instruction.
            Hook::Remove => unsafe { self.left(this, registers.rsi) },
            // SAFETY: the arguments are two live lists and nodes of the second.
            Hook::Transfer => unsafe { self.transfer(registers) },
            Hook::Replace => {
                if let (Some(from), Some(to)) = (self.at(this), self.at(registers.rsi)) {
                    self.push(Deed::Replace, to, Some(from), None);
                }
            }
            Hook::Merge => self.update(Deed::Merge, this, registers),
            Hook::Drop => self.update(Deed::Drop, this, registers),
            Hook::Track => {
                let owner = this.wrapping_sub(self.layout.location);
                self.update(Deed::SetLocation, owner, registers);
            }
            Hook::Retrack => {
                let owner = registers.rdx.wrapping_sub(self.layout.location);
                self.update(Deed::SetLocation, owner, registers);
            }
            Hook::Untrack => {
                let owner = this.wrapping_sub(self.layout.location);
                self.update(Deed::ClearLocation, owner, registers);
            }
            Hook::SetMetadata => {
                // Kind 0 is `dbg`.
                if registers.rsi as u32 == 0 {
                    let deed = match registers.rdx {
                        0 => Deed::ClearLocation,
                        _ => Deed::SetLocation,
                    };
                    self.update(deed, this, registers);
                }
            }
            Hook::CopyMetadata => {
                // SAFETY: the source is a live instruction.
                let location = unsafe { word(registers.rsi + self.layout.location) };
                if location != 0 {
                    self.update(Deed::SetLocation, this, registers);
                }
            }
        }
    }

    fn update(&mut self, deed: Deed, address: usize, registers: &Registers) {
        if let Some(id) = self.at(address)
            && !self.nested(registers.return_address)
        {
            self.push(deed, id, None, None);
        }
    }

    /// Looks where the pending instruction ended up.
    ///
    /// # Safety
    /// The pending instruction must still be in its list.
    unsafe fn settle(&mut self) {
        let Some((id, list, after)) = self.pending.take() else {
            return;
        };
        let Some(&address) = self.addresses.get(id.0 as usize) else {
            return;
        };
        let one = address as Ref;
        // SAFETY: promised by the caller; C API functions on a live instruction in a block.
        unsafe {
            if (self.api.LLVMGetInstructionParent)(one).is_null() {
                return;
            }
            let previous = (self.api.LLVMGetPreviousInstruction)(one) as usize;
            let next = (self.api.LLVMGetNextInstruction)(one) as usize;
            let mut old_terminator = None;
            if self.is_terminator(address) {
                if next != 0 && self.is_terminator(next) {
                    old_terminator = self.at(next);
                    if let Some(old) = old_terminator {
                        self.note_successors(old, next);
                    }
                } else {
                    old_terminator = self.last_terminator.get(&list).copied();
                }
            }
            let insertion = Insertion {
                previous: self.at(previous),
                next: self.at(next),
                after,
                old_terminator: old_terminator.filter(|old| *old != id),
                event: self.recording.events.len(),
            };
            self.recording.insertions.insert(id, insertion);
        }
    }

    /// # Safety
    /// `address` must be a live instruction.
    unsafe fn is_terminator(&self, address: usize) -> bool {
        // SAFETY: promised by the caller.
        unsafe { !(self.api.LLVMIsATerminatorInst)(address as Ref).is_null() }
    }

    /// # Safety
    /// `address` must be a live terminator, `id` its identity.
    unsafe fn note_successors(&mut self, id: InstId, address: usize) {
        // SAFETY: promised by the caller.
        let count = unsafe { (self.api.LLVMGetNumSuccessors)(address as Ref) };
        self.recording.successors.insert(id, count);
    }

    /// An instruction is about to leave a list.
    ///
    /// # Safety
    /// `address` must be a live instruction.
    unsafe fn left(&mut self, list: usize, address: usize) {
        if let Some(id) = self.at(address) {
            // SAFETY: promised by the caller.
            unsafe {
                if self.is_terminator(address) {
                    self.last_terminator.insert(list, id);
                    self.note_successors(id, address);
                }
            }
        }
    }

    /// # Safety
    /// The registers must hold the arguments of `transferNodesFromList`.
    unsafe fn transfer(&mut self, registers: &Registers) {
        let (to, from) = (registers.rdi, registers.rsi);
        if to == from {
            return;
        }
        let first = registers.rdx;
        let last = match self.layout.wide_iterators {
            true => registers.r8,
            false => registers.rcx,
        };
        // SAFETY: promised by the caller.
        let bulk = unsafe { self.is_bulk(to, from, first, last) };
        let stack = self.stack(registers);
        let mut node = first;
        for _ in 0..LONGEST_LIST {
            if node == last || node == 0 || node == from {
                break;
            }
            let address = node.wrapping_sub(self.layout.node);
            if let Some(id) = self.at(address) {
                self.push(Deed::Move { bulk }, id, None, Some(stack));
                // SAFETY: a node of a live list.
                unsafe { self.left(from, address) };
            }
            // SAFETY: as above.
            node = unsafe { word(node + 8) };
        }
    }

    /// Whether a transfer joins or splits blocks instead of moving instructions between them: into a
    /// block that is only being filled, of a whole block, or of a block into its only predecessor.
    ///
    /// # Safety
    /// As for `transfer`.
    unsafe fn is_bulk(&self, to: usize, from: usize, first: usize, last: usize) -> bool {
        let from_block = from.wrapping_sub(self.layout.list);
        // SAFETY: promised by the caller: a list's sentinel holds its last and its first node.
        unsafe {
            if first == word(from + 8) && last == from {
                return true;
            }
            let last_in_to = word(to);
            if last_in_to == to {
                return !self.last_terminator.contains_key(&to);
            }
            let terminator = last_in_to.wrapping_sub(self.layout.node);
            if !self.is_terminator(terminator) {
                return false;
            }
            let terminator = terminator as Ref;
            if (self.api.LLVMGetNumSuccessors)(terminator) != 1
                || (self.api.LLVMGetSuccessor)(terminator, 0) as usize != from_block
            {
                return false;
            }
            let first_use =
                (self.api.LLVMGetFirstUse)((self.api.LLVMBasicBlockAsValue)(from_block as Ref));
            !first_use.is_null() && (self.api.LLVMGetNextUse)(first_use).is_null()
        }
    }

    /// The call stack above the watched function, outermost last, as addresses in the file.
    fn stack(&mut self, registers: &Registers) -> StackId {
        let mut frames = [Svma(0); FRAMES];
        // SAFETY: the registers are those of a call on this thread's stack.
        let length = unsafe { self.walk(registers, &mut frames) };
        let frames = match length {
            Some(length) => frames.get(..length).unwrap_or_default(),
            None => &self.walk_by_runtime(registers),
        };
        debug_assert_eq!(frames, self.walk_by_runtime(registers));
        match self.stacks.get(frames) {
            Some(&known) => known,
            None => {
                let id = StackId(u32::try_from(self.recording.stacks.len()).unwrap_or(u32::MAX));
                self.recording.stacks.push(frames.to_vec());
                self.stacks.insert(frames.to_vec(), id);
                id
            }
        }
    }

    /// Fills `frames` by remembered steps; `None` if one is missing.
    ///
    /// # Safety
    /// The registers must be those of a call on this thread's stack.
    unsafe fn walk(&self, registers: &Registers, frames: &mut [Svma; FRAMES]) -> Option<usize> {
        let steps = self.steps?;
        let mut frame = Frame {
            return_address: registers.return_address,
            stack_pointer: (&raw const registers.return_address) as usize + 8,
            frame_pointer: registers.rbp,
        };
        let mut length = 0;
        for place in frames {
            // SAFETY: promised by the caller.
            let next = unsafe { steps.caller(frame) };
            if matches!(next, Next::Out) {
                break;
            }
            *place = Avma(frame.return_address as u64).stated(self.bias);
            length += 1;
            match next {
                Next::Caller(caller) => frame = caller,
                Next::Out | Next::Unknown => return None,
            }
        }
        Some(length)
    }

    /// As the C++ runtime sees it.
    fn walk_by_runtime(&self, registers: &Registers) -> Vec<Svma> {
        let mut walk = Walk {
            return_address: registers.return_address,
            inside: false,
            frames: Vec::with_capacity(FRAMES),
        };
        // SAFETY: the callback keeps to the contract of the unwinder; `walk` outlives the call.
        unsafe { _Unwind_Backtrace(frame, (&raw mut walk).cast()) };
        walk.frames
            .into_iter()
            .map(|address| Avma(address as u64).stated(self.bias))
            .collect()
    }
}

/// What is walked so far.
struct Walk {
    return_address: usize,
    inside: bool,
    frames: Vec<usize>,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        callback: extern "C" fn(*mut libc::c_void, *mut libc::c_void) -> c_int,
        argument: *mut libc::c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut libc::c_void) -> usize;
}

/// Keeps frames from the watched function's caller on, until the library is left for this program. Any
/// non-zero result ends the walk.
extern "C" fn frame(context: *mut libc::c_void, argument: *mut libc::c_void) -> c_int {
    // SAFETY: the unwinder's context, and the argument of `walk_by_runtime`.
    let (address, walk) = unsafe { (_Unwind_GetIP(context), &mut *argument.cast::<Walk>()) };
    walk.inside |= address == walk.return_address;
    if walk.inside {
        if in_this_program(address) {
            return 1;
        }
        walk.frames.push(address);
    }
    c_int::from(walk.frames.len() >= FRAMES)
}

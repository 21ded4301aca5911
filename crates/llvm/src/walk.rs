//! Call stacks inside the library, walked by remembered steps.
//!
//! The unwinder of the C++ runtime takes about a microsecond a frame and forgets everything. How to get
//! from a call to its caller is fixed at compile time: it is read once from the library's tables and kept
//! in memory that all workers and their children share, so that a later run finds it. Where a step is not a
//! plain one, the caller falls back to the runtime's unwinder.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_dwarf::{FrameBase, Step, Svma, Unwinder};

use crate::layout::word;

/// Steps kept; when there is no room for one, it is read again each time.
const ROOM: usize = 1 << 14;
/// Places looked at for a step.
const PROBES: usize = 8;

/// A remembered step: the return address it is for, and the step in one word.
#[repr(C)]
struct Entry {
    address: AtomicU64,
    step: AtomicU64,
}

/// The steps of one library.
pub(crate) struct Steps {
    entries: &'static [Entry],
    unwinder: RefCell<Unwinder>,
    bias: u64,
    code: std::ops::Range<usize>,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").finish_non_exhaustive()
    }
}

/// Where a walk stands: the code it is in, and the registers it has there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub return_address: usize,
    pub stack_pointer: usize,
    pub frame_pointer: usize,
}

/// What comes after a frame.
pub(crate) enum Next {
    Caller(Frame),
    /// The walk has left the library for this program.
    Out,
    /// The tables do not say, or not plainly.
    Unknown,
}

impl Steps {
    /// For the library at `path`, loaded at `bias` with its code in `code`.
    pub fn new(path: &Path, bias: u64, code: std::ops::Range<usize>) -> Option<Self> {
        let unwinder = Unwinder::open(path).ok()??;
        // SAFETY: a new shared mapping that is never given back; zeros are valid entries.
        let entries = unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                ROOM * size_of::<Entry>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if start == libc::MAP_FAILED {
                return None;
            }
            std::slice::from_raw_parts(start.cast::<Entry>(), ROOM)
        };
        Some(Steps {
            entries,
            unwinder: RefCell::new(unwinder),
            bias,
            code,
        })
    }

    /// The caller of a frame.
    ///
    /// # Safety
    /// The frame must be one of this thread's, on the stack now.
    pub unsafe fn caller(&self, frame: Frame) -> Next {
        if !self.code.contains(&frame.return_address) {
            return match in_this_program(frame.return_address) {
                true => Next::Out,
                false => Next::Unknown,
            };
        }
        let Some(step) = self.step(frame.return_address) else {
            return Next::Unknown;
        };
        let base = match step.base {
            FrameBase::StackPointer => frame.stack_pointer,
            FrameBase::FramePointer => frame.frame_pointer,
        };
        let stack_pointer = base.wrapping_add_signed(step.offset as isize);
        // SAFETY: promised by the caller; the tables say that these words are there.
        let (return_address, frame_pointer) = unsafe {
            let saved = step
                .saved_frame_pointer
                .map(|at| word(stack_pointer.wrapping_add_signed(isize::from(at))));
            (
                word(stack_pointer - 8),
                saved.unwrap_or(frame.frame_pointer),
            )
        };
        Next::Caller(Frame {
            return_address,
            stack_pointer,
            frame_pointer,
        })
    }

    fn step(&self, return_address: usize) -> Option<Step> {
        let key = return_address as u64;
        let first =
            (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ROOM.trailing_zeros())) as usize;
        let places = (0..PROBES).filter_map(|n| self.entries.get((first + n) % ROOM));
        for entry in places {
            match entry.address.load(Ordering::Acquire) {
                known if known == key => {
                    // A word of zero is one that another process is about to write.
                    if let Some(step) = unpack(entry.step.load(Ordering::Acquire)) {
                        return Some(step);
                    }
                    return self.read(key);
                }
                0 => {
                    let step = self.read(key)?;
                    let free = entry
                        .address
                        .compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire)
                        .is_ok();
                    if free {
                        entry.step.store(pack(step), Ordering::Release);
                    }
                    return Some(step);
                }
                _ => {}
            }
        }
        self.read(key)
    }

    /// The call ends where the return address begins: one byte before is in it.
    fn read(&self, return_address: u64) -> Option<Step> {
        let address = Svma(return_address.wrapping_sub(self.bias).wrapping_sub(1));
        self.unwinder.borrow_mut().step(address)
    }
}

/// The lowest bit is always set: no step is zero.
fn pack(step: Step) -> u64 {
    let base = u64::from(step.base == FrameBase::FramePointer) << 1;
    let saved = u64::from(step.saved_frame_pointer.is_some()) << 2;
    let at = u64::from(step.saved_frame_pointer.unwrap_or(0).cast_unsigned()) << 16;
    1 | base | saved | at | u64::from(step.offset.cast_unsigned()) << 32
}

fn unpack(packed: u64) -> Option<Step> {
    (packed & 1 == 1).then_some(Step {
        base: match packed >> 1 & 1 {
            0 => FrameBase::StackPointer,
            _ => FrameBase::FramePointer,
        },
        offset: ((packed >> 32) as u32).cast_signed(),
        saved_frame_pointer: (packed >> 2 & 1 == 1)
            .then_some(((packed >> 16) as u16).cast_signed()),
    })
}

/// Whether an address is code of the executable, which called the library.
pub(crate) fn in_this_program(address: usize) -> bool {
    unsafe extern "C" {
        static __executable_start: u8;
        static etext: u8;
    }
    let (start, end) = (&raw const __executable_start, &raw const etext);
    (start as usize..end as usize).contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_packing() {
        for base in [FrameBase::StackPointer, FrameBase::FramePointer] {
            for saved_frame_pointer in [None, Some(-16), Some(0), Some(i16::MIN)] {
                for offset in [8, 16, 4096, -8, i32::MAX, i32::MIN] {
                    let step = Step {
                        base,
                        offset,
                        saved_frame_pointer,
                    };
                    assert_eq!(unpack(pack(step)), Some(step));
                }
            }
        }
        assert_eq!(unpack(0), None);
    }

    #[test]
    fn this_program_knows_itself() {
        assert!(in_this_program(
            this_program_knows_itself as *const () as usize
        ));
        assert!(!in_this_program(libc::getpid as *const () as usize));
    }
}

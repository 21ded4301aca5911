//! From a frame to its caller's, for walking a stack whose registers are at hand: the plain rules that
//! compiled code has, each as a few numbers.

use std::path::Path;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, ParsedEhFrameHdr, RegisterRule, UnwindContext,
    UnwindSection,
};

use crate::elf::{File, Slice};
use crate::{Error, Svma};

const FRAME_POINTER: gimli::Register = gimli::X86_64::RBP;
const STACK_POINTER: gimli::Register = gimli::X86_64::RSP;

/// The register that the frame address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBase {
    /// `rsp`.
    StackPointer,
    /// `rbp`.
    FramePointer,
}

/// How to get to the caller's frame: the frame address is `base` plus `offset`, the return address is in
/// the word below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the frame address is counted from.
    pub base: FrameBase,
    /// Distance of the frame address.
    pub offset: i32,
    /// Where the caller's `rbp` is saved, relative to the frame address; `None` if it was left alone.
    pub saved_frame_pointer: Option<i16>,
}

/// The unwind tables of one file.
#[derive(Debug)]
pub struct Unwinder {
    header: ParsedEhFrameHdr<Slice>,
    frames: EhFrame<Slice>,
    bases: BaseAddresses,
    context: Box<UnwindContext<usize>>,
    /// What the readers point into.
    _file: File,
}

impl Unwinder {
    /// Reads the tables of `path`; `None` if it has no searchable ones.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let mut file = File::open(path)?;
        let mut frames = EhFrame::from(file.section(".eh_frame")?);
        frames.set_address_size(8);
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(file.section_address(".eh_frame_hdr"))
            .set_eh_frame(file.section_address(".eh_frame"))
            .set_text(file.section_address(".text"))
            .set_got(file.section_address(".got"));
        let header = EhFrameHdr::from(file.section(".eh_frame_hdr")?);
        let Ok(header) = header.parse(&bases, 8) else {
            return Ok(None);
        };
        Ok(header.table().is_some().then(|| Unwinder {
            header,
            frames,
            bases,
            context: Box::new(UnwindContext::new()),
            _file: file,
        }))
    }

    /// The step from code at `address`; `None` where it is not described or not plain.
    pub fn step(&mut self, address: Svma) -> Option<Step> {
        let row = self
            .header
            .table()?
            .unwind_info_for_address(
                &self.frames,
                &self.bases,
                &mut self.context,
                address.0,
                EhFrame::cie_from_offset,
            )
            .ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
            return None;
        };
        let base = match *register {
            STACK_POINTER => FrameBase::StackPointer,
            FRAME_POINTER => FrameBase::FramePointer,
            _ => return None,
        };
        let saved_frame_pointer = match row.register(FRAME_POINTER) {
            Some(RegisterRule::Offset(at)) => Some(i16::try_from(at).ok()?),
            None | Some(RegisterRule::SameValue) => None,
            Some(_) => return None,
        };
        let return_address = row.register(gimli::X86_64::RA);
        matches!(return_address, Some(RegisterRule::Offset(-8))).then_some(Step {
            base,
            offset: i32::try_from(*offset).ok()?,
            saved_frame_pointer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks this very test's stack by the tables of the test's own binary.
    #[test]
    fn our_own_stack_is_walked() {
        let mut unwinder = Unwinder::open(Path::new("/proc/self/exe"))
            .unwrap()
            .unwrap();
        let bias = bias();
        let (mut pc, mut sp, mut bp): (u64, u64, u64);
        // SAFETY: reads three registers.
        unsafe {
            std::arch::asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) bp);
        }
        let mut walked = Vec::new();
        for _ in 0..64 {
            let Some(step) = unwinder.step(Svma(pc.wrapping_sub(bias))) else {
                break;
            };
            let base = match step.base {
                FrameBase::StackPointer => sp,
                FrameBase::FramePointer => bp,
            };
            let frame = base.wrapping_add_signed(i64::from(step.offset));
            // SAFETY: the unwind tables say that these words are saved registers.
            unsafe {
                pc = ((frame - 8) as *const u64).read() - 1;
                if let Some(at) = step.saved_frame_pointer {
                    bp = (frame.wrapping_add_signed(i64::from(at)) as *const u64).read();
                }
            }
            sp = frame;
            walked.push(pc);
        }
        let real = std::backtrace::Backtrace::force_capture().to_string();
        // The harness's frames lie between this function and the thread's start.
        assert!(
            walked.len() >= 4 && real.lines().count() >= walked.len(),
            "{walked:x?}\n{real}"
        );
    }

    fn bias() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let exe = std::fs::read_link("/proc/self/exe").unwrap();
        let first = maps
            .lines()
            .find(|line| line.ends_with(&*exe.to_string_lossy()))
            .unwrap();
        u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap()
    }
}

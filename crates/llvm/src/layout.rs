//! Where the fields of LLVM's objects are, measured on a module of our own instead of assumed.
//!
//! The C API says what an instruction's neighbour, block and location *are*; looking for those very
//! pointers in the object says where they are kept. Four numbers are needed to read the arguments of
//! list operations and of `MetadataTracking`.

use crate::api::{Api, Ref};
use crate::module;

/// Offsets in LLVM's objects, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of the list node (previous, next) in an instruction.
    pub node: usize,
    /// Of the debug location in an instruction.
    pub location: usize,
    /// Of the list of instructions in a block.
    pub list: usize,
    /// Whether list iterators take two registers.
    pub wide_iterators: bool,
}

/// Three instructions in one block; `debugify` gives them locations.
const PROBE: &str =
    "define i32 @probe(i32 %a) {\n  %b = add i32 %a, 1\n  %c = mul i32 %b, %a\n  ret i32 %c\n}\n";

/// `sizeof(Instruction)` on every version so far; no field of interest lies beyond.
const EXTENT: usize = 64;

impl Layout {
    /// Measures the library behind `api`, and with it that `debugify` works.
    pub fn measure(api: &Api, wide_iterators: bool) -> Result<Self, String> {
        // SAFETY: our own module; reads stay within the three instructions and their block.
        unsafe {
            let context = (api.LLVMContextCreate)();
            let module = module::parse(api, context, PROBE.as_bytes(), "probe.ll")?;
            module::run_passes(api, module, "debugify", std::ptr::null_mut())?;
            let function = (api.LLVMGetFirstFunction)(module);
            let block = (api.LLVMGetFirstBasicBlock)(function);
            let first = (api.LLVMGetFirstInstruction)(block);
            let second = (api.LLVMGetNextInstruction)(first);
            let third = (api.LLVMGetNextInstruction)(second);
            let measured = find(api, block, [first, second, third], wide_iterators);
            (api.LLVMDisposeModule)(module);
            (api.LLVMContextDispose)(context);
            measured.ok_or_else(|| {
                "the layout of its instructions is not one we know (list node, location, block)"
                    .to_owned()
            })
        }
    }
}

/// # Safety
/// A live block with exactly these instructions.
unsafe fn find(api: &Api, block: Ref, three: [Ref; 3], wide_iterators: bool) -> Option<Layout> {
    let [first, second, third] = three.map(|one| one as usize);
    let offsets = || (0..EXTENT).step_by(8);
    // SAFETY: within the extent of an instruction.
    let node = offsets().find(|offset| unsafe {
        offset + 16 <= EXTENT
            && word(first + offset + 8) == second + offset
            && word(second + offset) == first + offset
            && word(second + offset + 8) == third + offset
    })?;
    let location = offsets().find(|offset| {
        three.iter().all(|one| {
            // SAFETY: as above; the C API reads a live instruction.
            unsafe {
                let wanted = (api.LLVMInstructionGetDebugLoc)(*one) as usize;
                wanted != 0 && word(*one as usize + offset) == wanted
            }
        })
    })?;
    // SAFETY: the last node's next is the sentinel inside the block.
    let list = unsafe { word(third + node + 8) }.checked_sub(block as usize)?;
    (list < 128).then_some(Layout {
        node,
        location,
        list,
        wide_iterators,
    })
}

/// Reads a machine word.
///
/// # Safety
/// `address` must be readable and aligned.
pub(crate) unsafe fn word(address: usize) -> usize {
    // SAFETY: promised by the caller.
    unsafe { (address as *const usize).read() }
}

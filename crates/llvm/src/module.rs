//! A module through the C API: parsing, running passes, and a snapshot of its functions.

use std::ffi::CStr;

use crate::api::{Api, Ref, c_string};
use crate::event::InstId;

/// An instruction in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Who it is.
    pub id: Option<InstId>,
    /// Its address: only for asking the library about it while the module lives.
    pub address: u64,
    /// The C API's opcode, which is the same in every version.
    pub opcode: Opcode,
    /// Its debug location.
    pub location: Location,
    /// The non-constant operands that are not blocks, by address.
    pub operands: Vec<u64>,
    /// Whether it is a call of an intrinsic that generates no code (`llvm.dbg.*`).
    pub is_debug: bool,
    /// Whether it is a call of `llvm.assume` or `llvm.experimental.noalias.scope.decl`.
    pub is_assumption: bool,
    /// For a comparison of arguments and constants: the same number for the same comparison in one run.
    pub fixed_comparison: Option<u64>,
}

/// The line of a debug location. `debugify` numbers lines by instruction, so a line names its owner.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Location {
    /// No location.
    None,
    /// A location with line 0: compiler generated.
    Zero,
    /// A line.
    Line(u32),
}

impl Location {
    /// The line, if there is one.
    pub fn line(self) -> Option<u32> {
        match self {
            Location::Line(line) => Some(line),
            Location::None | Location::Zero => None,
        }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::None => f.write_str("none"),
            Location::Zero => f.write_str("line 0"),
            Location::Line(line) => write!(f, "line {line}"),
        }
    }
}

/// An opcode in the C API's numbering (`LLVMOpcode` of llvm-c/Core.h).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Opcode(pub u32);

impl Opcode {
    /// `unreachable`.
    pub const UNREACHABLE: Opcode = Opcode(7);
    /// `phi`.
    pub const PHI: Opcode = Opcode(44);
    /// `alloca`.
    pub const ALLOCA: Opcode = Opcode(26);
    /// `call`.
    pub const CALL: Opcode = Opcode(45);
    /// `icmp`.
    pub const ICMP: Opcode = Opcode(42);

    /// As IR text spells it.
    pub fn name(self) -> &'static str {
        match self.0 {
            1 => "ret",
            // 23 has two opcodes for it.
            2 | 70 | 71 => "br",
            3 => "switch",
            4 => "indirectbr",
            5 => "invoke",
            7 => "unreachable",
            8 => "add",
            9 => "fadd",
            10 => "sub",
            11 => "fsub",
            12 => "mul",
            13 => "fmul",
            14 => "udiv",
            15 => "sdiv",
            16 => "fdiv",
            17 => "urem",
            18 => "srem",
            19 => "frem",
            20 => "shl",
            21 => "lshr",
            22 => "ashr",
            23 => "and",
            24 => "or",
            25 => "xor",
            26 => "alloca",
            27 => "load",
            28 => "store",
            29 => "getelementptr",
            30 => "trunc",
            31 => "zext",
            32 => "sext",
            33 => "fptoui",
            34 => "fptosi",
            35 => "uitofp",
            36 => "sitofp",
            37 => "fptrunc",
            38 => "fpext",
            39 => "ptrtoint",
            40 => "inttoptr",
            41 => "bitcast",
            42 => "icmp",
            43 => "fcmp",
            44 => "phi",
            45 => "call",
            46 => "select",
            49 => "va_arg",
            50 => "extractelement",
            51 => "insertelement",
            52 => "shufflevector",
            53 => "extractvalue",
            54 => "insertvalue",
            55 => "fence",
            56 => "cmpxchg",
            57 => "atomicrmw",
            58 => "resume",
            59 => "landingpad",
            60 => "addrspacecast",
            61 => "cleanupret",
            62 => "catchret",
            63 => "catchpad",
            64 => "cleanuppad",
            65 => "catchswitch",
            66 => "fneg",
            67 => "callbr",
            68 => "freeze",
            _ => "instruction",
        }
    }

    /// Whether it ends a block.
    pub fn is_terminator(self) -> bool {
        matches!(self.0, 1..=5 | 7 | 58 | 61 | 62 | 65 | 67)
    }
}

/// A basic block in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its address, which lasts as long as the block.
    pub address: u64,
    /// As IR text spells it; empty when it has none.
    pub name: String,
    /// Indices of its successors in the function.
    pub successors: Vec<usize>,
    /// In order.
    pub insts: Vec<Inst>,
}

/// A function with a body in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// Parses IR text or bitcode.
///
/// # Safety
/// `context` must be alive.
pub(crate) unsafe fn parse(
    api: &Api,
    context: Ref,
    input: &[u8],
    name: &str,
) -> Result<Ref, String> {
    let name = c_string(name);
    let mut module = std::ptr::null_mut();
    let mut message = std::ptr::null_mut();
    // SAFETY: the buffer is copied, and the parser takes the copy over.
    unsafe {
        let buffer = (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(
            input.as_ptr().cast(),
            input.len(),
            name.as_ptr(),
        );
        match (api.LLVMParseIRInContext)(context, buffer, &mut module, &mut message) {
            0 => Ok(module),
            _ => Err(api.take_message(message).trim().to_owned()),
        }
    }
}

/// Runs a pipeline in `opt -passes=` syntax.
///
/// # Safety
/// `module` must be alive, `machine` alive or null.
pub(crate) unsafe fn run_passes(
    api: &Api,
    module: Ref,
    pipeline: &str,
    machine: Ref,
) -> Result<(), String> {
    let pipeline = c_string(pipeline);
    // SAFETY: promised by the caller.
    unsafe {
        let options = (api.LLVMCreatePassBuilderOptions)();
        let error = (api.LLVMRunPasses)(module, pipeline.as_ptr(), machine, options);
        (api.LLVMDisposePassBuilderOptions)(options);
        if error.is_null() {
            return Ok(());
        }
        let message = (api.LLVMGetErrorMessage)(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        (api.LLVMDisposeErrorMessage)(message);
        Err(text)
    }
}

/// The module as text.
///
/// # Safety
/// `module` must be alive.
pub(crate) unsafe fn print(api: &Api, module: Ref) -> String {
    // SAFETY: promised by the caller.
    unsafe { api.take_message((api.LLVMPrintModuleToString)(module)) }
}

/// What a function's body looks like now. `who` names instructions.
///
/// # Safety
/// `module` must be alive.
pub(crate) unsafe fn snapshot(
    api: &Api,
    module: Ref,
    mut who: impl FnMut(usize) -> Option<InstId>,
) -> Vec<Function> {
    let mut functions = Vec::new();
    // SAFETY: walks live objects of a live module by the C API.
    unsafe {
        let mut function = (api.LLVMGetFirstFunction)(module);
        while !function.is_null() {
            let mut blocks = Vec::new();
            let mut index = rustc_hash::FxHashMap::default();
            let mut block = (api.LLVMGetFirstBasicBlock)(function);
            while !block.is_null() {
                index.insert(block as usize, blocks.len());
                let mut insts = Vec::new();
                let mut one = (api.LLVMGetFirstInstruction)(block);
                while !one.is_null() {
                    insts.push(inst(api, one, &mut who));
                    one = (api.LLVMGetNextInstruction)(one);
                }
                blocks.push((block, insts));
                block = (api.LLVMGetNextBasicBlock)(block);
            }
            let blocks: Vec<Block> = blocks
                .into_iter()
                .map(|(block, insts)| Block {
                    address: block as u64,
                    name: CStr::from_ptr((api.LLVMGetBasicBlockName)(block))
                        .to_string_lossy()
                        .into_owned(),
                    successors: successors(api, block, &index),
                    insts,
                })
                .collect();
            if !blocks.is_empty() {
                functions.push(Function {
                    name: name(api, function),
                    blocks,
                });
            }
            function = (api.LLVMGetNextFunction)(function);
        }
    }
    functions
}

unsafe fn successors(
    api: &Api,
    block: Ref,
    index: &rustc_hash::FxHashMap<usize, usize>,
) -> Vec<usize> {
    // SAFETY: a live block.
    unsafe {
        let terminator = (api.LLVMGetBasicBlockTerminator)(block);
        if terminator.is_null() {
            return Vec::new();
        }
        (0..(api.LLVMGetNumSuccessors)(terminator))
            .filter_map(|n| {
                index
                    .get(&((api.LLVMGetSuccessor)(terminator, n) as usize))
                    .copied()
            })
            .collect()
    }
}

unsafe fn inst(api: &Api, one: Ref, who: &mut impl FnMut(usize) -> Option<InstId>) -> Inst {
    // SAFETY: a live instruction.
    unsafe {
        let location = (api.LLVMInstructionGetDebugLoc)(one);
        let location = match location.is_null() {
            true => Location::None,
            false => match (api.LLVMDILocationGetLine)(location) {
                0 => Location::Zero,
                line => Location::Line(line),
            },
        };
        let count = (api.LLVMGetNumOperands)(one).max(0).unsigned_abs();
        let operands = (0..count)
            .map(|n| (api.LLVMGetOperand)(one, n))
            .filter(|operand| {
                !operand.is_null()
                    && (api.LLVMIsConstant)(*operand) == 0
                    && (api.LLVMValueIsBasicBlock)(*operand) == 0
            })
            .map(|operand| operand as u64)
            .collect();
        let opcode = Opcode((api.LLVMGetInstructionOpcode)(one));
        let called = match opcode == Opcode::CALL && !(api.LLVMIsACallInst)(one).is_null() {
            true => name(api, (api.LLVMGetCalledValue)(one)),
            false => String::new(),
        };
        Inst {
            id: who(one as usize),
            address: one as u64,
            opcode,
            location,
            operands,
            is_debug: called.starts_with("llvm.dbg."),
            is_assumption: called == "llvm.assume"
                || called.starts_with("llvm.experimental.noalias.scope"),
            fixed_comparison: match opcode {
                Opcode::ICMP => fixed_comparison(api, one),
                _ => None,
            },
        }
    }
}

/// Constants are unique in a context, so that equal operands have equal addresses.
unsafe fn fixed_comparison(api: &Api, one: Ref) -> Option<u64> {
    use std::hash::Hasher;
    let mut hash = rustc_hash::FxHasher::default();
    // SAFETY: a live comparison.
    unsafe {
        hash.write_i32((api.LLVMGetICmpPredicate)(one));
        for n in 0..2 {
            let operand = (api.LLVMGetOperand)(one, n);
            if (api.LLVMIsConstant)(operand) == 0 && (api.LLVMIsAArgument)(operand).is_null() {
                return None;
            }
            hash.write_usize(operand as usize);
        }
    }
    Some(hash.finish())
}

unsafe fn name(api: &Api, value: Ref) -> String {
    if value.is_null() {
        return String::new();
    }
    let mut length = 0;
    // SAFETY: a live value; the name lives as long as it.
    unsafe {
        let start = (api.LLVMGetValueName2)(value, &mut length);
        if start.is_null() {
            return String::new();
        }
        String::from_utf8_lossy(std::slice::from_raw_parts(start.cast::<u8>(), length)).into_owned()
    }
}

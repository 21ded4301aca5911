//! The part of LLVM's C API we use, by dlopen. The C API is stable: one table serves 14 to 23.

use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::path::Path;

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW, Symbol};

/// Any of LLVM's objects: context, module, value, metadata, target machine.
pub type Ref = *mut libc::c_void;

macro_rules! api {
    ($($name:ident : fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// Resolved functions of one library.
        #[allow(non_snake_case)]
        pub struct Api {
            handle: Handle,
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }
        impl Api {
            #[allow(non_snake_case)]
            fn resolve(handle: Handle) -> Result<Self, String> {
                $(
                    // SAFETY: the types are those of llvm-c's headers.
                    let $name: Symbol<unsafe extern "C" fn($($arg),*) $(-> $ret)?> = unsafe {
                        handle.get(concat!(stringify!($name), "\0").as_bytes())
                    }
                    .map_err(|error| error.to_string())?;
                    let $name = *$name;
                )*
                Ok(Api { handle, $($name),* })
            }
        }
    };
}

api! {
    LLVMContextCreate: fn() -> Ref;
    LLVMContextDispose: fn(Ref);
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Ref;
    LLVMParseIRInContext: fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: fn(Ref);
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMGetErrorMessage: fn(Ref) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
    LLVMRunPasses: fn(Ref, *const c_char, Ref, Ref) -> Ref;
    LLVMCreatePassBuilderOptions: fn() -> Ref;
    LLVMDisposePassBuilderOptions: fn(Ref);
    LLVMParseCommandLineOptions: fn(c_int, *const *const c_char, *const c_char);
    LLVMStripModuleDebugInfo: fn(Ref) -> c_uint;
    LLVMVerifyModule: fn(Ref, c_int, *mut *mut c_char) -> c_int;
    LLVMPrintModuleToString: fn(Ref) -> *mut c_char;
    LLVMPrintValueToString: fn(Ref) -> *mut c_char;
    LLVMGetTarget: fn(Ref) -> *const c_char;
    LLVMSetTarget: fn(Ref, *const c_char);
    LLVMNormalizeTargetTriple: fn(*const c_char) -> *mut c_char;
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine: fn(Ref, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Ref;
    LLVMCreateTargetDataLayout: fn(Ref) -> Ref;
    LLVMSetModuleDataLayout: fn(Ref, Ref);
    LLVMGetDataLayoutStr: fn(Ref) -> *const c_char;
    LLVMSetDataLayout: fn(Ref, *const c_char);
    LLVMGetFirstFunction: fn(Ref) -> Ref;
    LLVMGetNextFunction: fn(Ref) -> Ref;
    LLVMGetFirstBasicBlock: fn(Ref) -> Ref;
    LLVMGetNextBasicBlock: fn(Ref) -> Ref;
    LLVMGetBasicBlockTerminator: fn(Ref) -> Ref;
    LLVMGetBasicBlockName: fn(Ref) -> *const c_char;
    LLVMBasicBlockAsValue: fn(Ref) -> Ref;
    LLVMGetFirstInstruction: fn(Ref) -> Ref;
    LLVMGetNextInstruction: fn(Ref) -> Ref;
    LLVMGetPreviousInstruction: fn(Ref) -> Ref;
    LLVMGetInstructionParent: fn(Ref) -> Ref;
    LLVMGetInstructionOpcode: fn(Ref) -> c_uint;
    LLVMIsATerminatorInst: fn(Ref) -> Ref;
    LLVMGetNumSuccessors: fn(Ref) -> c_uint;
    LLVMGetSuccessor: fn(Ref, c_uint) -> Ref;
    LLVMGetValueName2: fn(Ref, *mut usize) -> *const c_char;
    LLVMGetNumOperands: fn(Ref) -> c_int;
    LLVMGetOperand: fn(Ref, c_uint) -> Ref;
    LLVMIsConstant: fn(Ref) -> c_int;
    LLVMValueIsBasicBlock: fn(Ref) -> c_int;
    LLVMGetFirstUse: fn(Ref) -> Ref;
    LLVMGetNextUse: fn(Ref) -> Ref;
    LLVMInstructionGetDebugLoc: fn(Ref) -> Ref;
    LLVMDILocationGetLine: fn(Ref) -> c_uint;
    LLVMGetCalledValue: fn(Ref) -> Ref;
    LLVMIsACallInst: fn(Ref) -> Ref;
    LLVMIsAArgument: fn(Ref) -> Ref;
    LLVMGetICmpPredicate: fn(Ref) -> c_int;
}

/// `llvm::cl::ParseCommandLineOptions` as 14 to 20 have it. The C function discards error messages and
/// ignores unknown options; this one prints and exits, which a child of its own can afford.
const PARSE_OPTIONS: &[u8] =
    b"_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamES2_b\0";
type ParseOptions = unsafe extern "C" fn(
    c_int,
    *const *const c_char,
    *const c_char,
    usize,
    Ref,
    *mut c_char,
    bool,
) -> bool;

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

impl Api {
    /// Loads `path`. Its static initialisers run: only in a process that is ours to lose.
    pub fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: a libLLVM; its initialisers register options and passes.
        let handle = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| error.to_string())?;
        Self::resolve(handle)
    }

    /// Registers every target the library was built with.
    pub fn initialise_targets(&self) {
        const TARGETS: [&str; 22] = [
            "X86",
            "AArch64",
            "ARM",
            "PowerPC",
            "AMDGPU",
            "RISCV",
            "SystemZ",
            "NVPTX",
            "Mips",
            "Hexagon",
            "WebAssembly",
            "AVR",
            "MSP430",
            "Sparc",
            "Lanai",
            "BPF",
            "XCore",
            "LoongArch",
            "VE",
            "M68k",
            "SPIRV",
            "Xtensa",
        ];
        for target in TARGETS {
            for part in ["TargetInfo", "Target", "TargetMC"] {
                let name = format!("LLVMInitialize{target}{part}\0");
                // SAFETY: these functions take and return nothing; absent ones are targets not built.
                unsafe {
                    if let Ok(function) = self.handle.get::<unsafe extern "C" fn()>(name.as_bytes())
                    {
                        function();
                    }
                }
            }
        }
    }

    /// Passes options to LLVM's global option parser. One that it does not know ends this process with
    /// a message: only in a process that is ours to lose.
    pub fn parse_options(&self, options: &[String]) {
        let owned: Vec<CString> = std::iter::once("candor")
            .chain(options.iter().map(String::as_str))
            .map(c_string)
            .collect();
        let pointers: Vec<*const c_char> = owned.iter().map(|one| one.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: an argument vector as `main` gets it. The C++ function's StringRef is a pointer and
        // a length in two registers.
        unsafe {
            match self.handle.get::<ParseOptions>(PARSE_OPTIONS) {
                Ok(parse) => {
                    let (errors, variable) = (std::ptr::null_mut(), std::ptr::null_mut());
                    parse(
                        count,
                        pointers.as_ptr(),
                        c"".as_ptr(),
                        0,
                        errors,
                        variable,
                        false,
                    );
                }
                // Ignores what it does not know.
                Err(_) => {
                    (self.LLVMParseCommandLineOptions)(count, pointers.as_ptr(), c"".as_ptr())
                }
            }
        }
    }

    /// Prints the names of all passes to standard error, as `opt --print-passes` does.
    pub fn print_pass_names(&self) -> Result<(), String> {
        const PRINT: &[u8] = b"_ZN4llvm11PassBuilder14printPassNamesERNS_11raw_ostreamE\0";
        const ERRORS: &[u8] = b"_ZN4llvm4errsEv\0";
        // SAFETY: the method only reads tables and never its object.
        unsafe {
            let print: Symbol<unsafe extern "C" fn(Ref, Ref)> =
                self.handle.get(PRINT).map_err(|error| error.to_string())?;
            let errors: Symbol<unsafe extern "C" fn() -> Ref> =
                self.handle.get(ERRORS).map_err(|error| error.to_string())?;
            print(std::ptr::null_mut(), errors());
        }
        Ok(())
    }

    /// Takes over a message of LLVM's.
    ///
    /// # Safety
    /// `message` must be null or a string that LLVM allocated for us.
    pub(crate) unsafe fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: promised by the caller.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.LLVMDisposeMessage)(message);
            text
        }
    }
}

/// A C string; what follows a NUL byte is cut off, as every C function would.
pub fn c_string(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

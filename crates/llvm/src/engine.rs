//! A loaded libLLVM in a process of its own, and one run of a pipeline on one input under its eyes.

use crate::api::{Api, Ref, c_string};
use crate::detour::Arena;
use crate::event::Recording;
use crate::hooks::wide_iterators;
use crate::layout::Layout;
use crate::library::Library;
use crate::module::{self, Function};
use crate::pool::Loading;
use crate::record::{Recorder, Watched};
use crate::resident::make_resident;
use crate::thunk;
use crate::walk::Steps;

/// CPU time of this thread so far.
fn thread_time() -> std::time::Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the struct given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    std::time::Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// One input for one pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Run {
    /// For messages.
    pub name: String,
    /// IR text or bitcode.
    #[serde(with = "text_or_bytes")]
    pub input: Vec<u8>,
    /// In `opt -passes=` syntax.
    pub pipeline: String,
    /// Wins over the module's.
    pub triple: Option<String>,
    /// `-mcpu`.
    pub cpu: String,
    /// `-mattr`.
    pub features: String,
    /// `-data-layout`.
    pub layout: Option<String>,
    /// Further options of LLVM's own.
    pub options: Vec<String>,
}

/// Text as a string, which is read and written many times faster than a list of numbers.
mod text_or_bytes {
    use serde::Deserialize as _;

    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Input {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: serde::Serializer>(input: &[u8], to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(input) {
            Ok(text) => to.serialize_str(text),
            Err(_) => to.collect_seq(input),
        }
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Input::deserialize(from)? {
            Input::Text(text) => text.into_bytes(),
            Input::Bytes(bytes) => bytes,
        })
    }
}

/// What one run showed. Addresses in it are of a process that is gone.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The input with `debugify`'s locations.
    pub before: Vec<Function>,
    /// The output.
    pub after: Vec<Function>,
    /// What happened between.
    pub recording: Recording,
    /// Whether every instruction of the output is accounted for.
    pub check: SelfCheck,
}

/// The self-check after a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SelfCheck {
    /// Instructions in the output.
    pub instructions: usize,
    /// Of these, made by the pass.
    pub new: usize,
    /// Of these, whose constructor nobody saw: the library was built with link-time optimisation.
    pub unknown: usize,
    /// Instructions found in another block than before without a move having been seen.
    pub unseen_moves: usize,
}

impl std::ops::AddAssign for SelfCheck {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.new += other.new;
        self.unknown += other.unknown;
        self.unseen_moves += other.unseen_moves;
    }
}

/// Why a run came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", content = "message")]
pub enum Refusal {
    /// The input is not IR; the library's own words with file and line.
    BadInput(String),
    /// The pipeline is not one; the library's own words.
    BadPipeline(String),
    /// `debugify` failed.
    NoDebugify(String),
    /// The pass left invalid IR behind; the verifier's words.
    BrokenOutput(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::BadInput(message) => write!(f, "the input cannot be read: {message}"),
            Refusal::BadPipeline(message) => write!(f, "the pipeline was refused: {message}"),
            Refusal::NoDebugify(message) => write!(f, "debugify failed: {message}"),
            Refusal::BrokenOutput(message) => write!(f, "the pass left invalid IR: {message}"),
        }
    }
}

/// A library that is loaded, watched and measured in this process.
#[derive(Debug)]
pub struct Engine {
    api: Api,
    version: u32,
    layout: Layout,
    hooks: Vec<Watched>,
    bias: u64,
    steps: Option<Steps>,
}

impl Engine {
    /// Loads `library` into this process for good; `loading` says how. Only a process that ends
    /// with its work should do this: see [`crate::Pool`].
    pub(crate) fn load(library: &Library, loading: Loading) -> Result<Self, String> {
        let api = Api::load(&library.path)?;
        api.initialise_targets();
        // Full debugify aborts on scalable vectors, and its variables keep passes from working.
        api.parse_options(&[
            "-debugify-level=locations".to_owned(),
            "-debugify-quiet".to_owned(),
        ]);
        let anchor = library.anchor().ok_or("it lacks its anchor symbol")?;
        let bias = (api.LLVMContextCreate as usize as u64).wrapping_sub(anchor.0);
        let layout = Layout::measure(&api, wide_iterators(&library.targets))?;
        let hooks: Vec<Watched> = library
            .targets
            .iter()
            .map(|target| Watched::new(target, bias))
            .collect();
        if loading != Loading::Plain {
            let middle = library.elf.text.0.loaded(bias).0 as usize;
            let mut arena = Arena::near(middle)?;
            for (slot, (watched, target)) in hooks.iter().zip(&library.targets).enumerate() {
                let thunk = thunk::address(slot).ok_or("too many functions to watch")?;
                let start = watched.range.start;
                // SAFETY: an exported function of the library just loaded; this process has one
                // thread, which is here.
                unsafe {
                    let next = arena
                        .divert(start, thunk)
                        .map_err(|reason| format!("{} cannot be watched: {reason}", target.name))?;
                    thunk::set_continue(slot, next);
                }
            }
        }
        if loading == Loading::Resident {
            // SAFETY: this process has one thread, which is here.
            unsafe { make_resident(&library.path, library.elf.text.0.loaded(bias).0 as usize) };
        }
        let text = library.elf.text;
        let code = text.0.loaded(bias).0 as usize..text.1.loaded(bias).0 as usize;
        Ok(Engine {
            steps: Steps::new(&library.path, bias, code),
            api,
            version: library.version,
            layout,
            hooks,
            bias,
        })
    }

    fn recorder(&self) -> Recorder<'_> {
        let steps = self.steps.as_ref();
        Recorder::new(&self.api, self.layout, &self.hooks, self.bias, steps)
    }

    /// The library's major version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The passes that pipelines may name, without analyses.
    pub fn pass_names(&self) -> Result<Vec<String>, String> {
        use std::io::{Read, Seek};
        use std::os::fd::FromRawFd;
        self.api.print_pass_names()?;
        // SAFETY: a copy of standard error, which is a memory file of this child's (see `pool`).
        let mut printed = unsafe { std::fs::File::from_raw_fd(libc::dup(2)) };
        let mut text = String::new();
        printed
            .seek(std::io::SeekFrom::Start(0))
            .and_then(|_| printed.read_to_string(&mut text))
            .map_err(|error| error.to_string())?;
        let mut names = std::collections::BTreeSet::new();
        let mut analyses = false;
        for line in text.lines() {
            match line.strip_prefix("  ") {
                Some(name) if !analyses => {
                    names.insert(name.split('<').next().unwrap_or(name).trim().to_owned());
                }
                Some(_) => {}
                None => analyses = line.contains("analyses"),
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Runs `run` and watches. `see` gets the trace while the module is alive, and may ask for the
    /// text of instructions.
    pub fn trace<T>(
        &self,
        run: &Run,
        see: impl FnOnce(&Trace, &dyn Fn(u64) -> String) -> T,
    ) -> Result<T, Refusal> {
        let prepared = self.prepare(run)?;
        // SAFETY: the module is ours until the end of this function; addresses given to the printer
        // come from the trace.
        unsafe {
            let mut recorder = self.recorder();
            let before = module::snapshot(&self.api, prepared.module, |address| {
                Some(recorder.register(address))
            });
            recorder
                .while_recording(|| {
                    module::run_passes(&self.api, prepared.module, &run.pipeline, prepared.machine)
                })
                .map_err(Refusal::BadPipeline)?;
            self.verify(prepared.module)
                .map_err(Refusal::BrokenOutput)?;
            let after =
                module::snapshot(&self.api, prepared.module, |address| recorder.at(address));
            let recording = recorder.finish();
            let check = self_check(&before, &after, &recording);
            let trace = Trace {
                before,
                after,
                recording,
                check,
            };
            let print = |address: u64| {
                let text = self
                    .api
                    .take_message((self.api.LLVMPrintValueToString)(address as Ref));
                text.trim().to_owned()
            };
            Ok(see(&trace, &print))
        }
    }

    /// The input as text, without debug information.
    pub fn text(&self, run: &Run) -> Result<String, Refusal> {
        // SAFETY: C API calls on objects made here; they die with the process.
        unsafe {
            let module = self.parse((self.api.LLVMContextCreate)(), run)?;
            self.verify(module).map_err(Refusal::BadInput)?;
            (self.api.LLVMStripModuleDebugInfo)(module);
            Ok(module::print(&self.api, module))
        }
    }

    /// Runs `run` and gives input (with `debugify`'s locations) and output as text.
    pub fn transform(&self, run: &Run) -> Result<(String, String), Refusal> {
        let prepared = self.prepare(run)?;
        // SAFETY: as in `trace`.
        unsafe {
            let before = module::print(&self.api, prepared.module);
            module::run_passes(&self.api, prepared.module, &run.pipeline, prepared.machine)
                .map_err(Refusal::BadPipeline)?;
            Ok((before, module::print(&self.api, prepared.module)))
        }
    }

    /// As [`Engine::transform`], recording all the while (and throwing the record away): what the
    /// detours must not change.
    pub fn transform_watched(&self, run: &Run) -> Result<(String, String), Refusal> {
        let prepared = self.prepare(run)?;
        // SAFETY: as in `trace`.
        unsafe {
            let before = module::print(&self.api, prepared.module);
            let mut recorder = self.recorder();
            module::snapshot(&self.api, prepared.module, |address| {
                Some(recorder.register(address))
            });
            recorder
                .while_recording(|| {
                    module::run_passes(&self.api, prepared.module, &run.pipeline, prepared.machine)
                })
                .map_err(Refusal::BadPipeline)?;
            Ok((before, module::print(&self.api, prepared.module)))
        }
    }

    /// How much CPU time the pipeline itself takes, recording or not.
    pub fn time(&self, run: &Run, watched: bool) -> Result<std::time::Duration, Refusal> {
        let prepared = self.prepare(run)?;
        let pass = || {
            let started = thread_time();
            // SAFETY: as in `trace`.
            let result = unsafe {
                module::run_passes(&self.api, prepared.module, &run.pipeline, prepared.machine)
            };
            (thread_time().saturating_sub(started), result)
        };
        let (took, result) = match watched {
            false => pass(),
            true => {
                let mut recorder = self.recorder();
                // SAFETY: as in `trace`.
                unsafe {
                    module::snapshot(&self.api, prepared.module, |address| {
                        Some(recorder.register(address))
                    });
                }
                recorder.while_recording(pass)
            }
        };
        result.map_err(Refusal::BadPipeline)?;
        Ok(took)
    }

    /// Parses, strips, sets the target as `opt` does, and numbers the instructions.
    fn prepare(&self, run: &Run) -> Result<Prepared, Refusal> {
        if !run.options.is_empty() {
            self.api.parse_options(&run.options);
        }
        let api = &self.api;
        // SAFETY: C API calls on objects made here; they die with the process.
        unsafe {
            let context = (api.LLVMContextCreate)();
            let module = self.parse(context, run)?;
            // As opt does: a pass may crash on what is no IR.
            self.verify(module).map_err(Refusal::BadInput)?;
            (api.LLVMStripModuleDebugInfo)(module);
            if let Some(triple) = &run.triple {
                let triple = c_string(triple);
                (api.LLVMSetTarget)(module, (api.LLVMNormalizeTargetTriple)(triple.as_ptr()));
            }
            let machine = self.machine(module, run);
            if let Some(layout) = &run.layout {
                (api.LLVMSetDataLayout)(module, c_string(layout).as_ptr());
            } else if self.version >= 18
                && !machine.is_null()
                && *(api.LLVMGetDataLayoutStr)(module) == 0
            {
                // opt does so since 18.
                (api.LLVMSetModuleDataLayout)(module, (api.LLVMCreateTargetDataLayout)(machine));
            }
            module::run_passes(api, module, "debugify", machine).map_err(Refusal::NoDebugify)?;
            Ok(Prepared { module, machine })
        }
    }

    /// # Safety
    /// `context` must be alive.
    unsafe fn parse(&self, context: Ref, run: &Run) -> Result<Ref, Refusal> {
        // SAFETY: promised by the caller.
        unsafe {
            match module::parse(&self.api, context, &run.input, &run.name) {
                // 14 and 15 decide on opaque pointers once per process.
                Err(message)
                    if self.version <= 15
                        && (message.contains("opaque-pointers")
                            || message.contains("expected type")) =>
                {
                    self.api.parse_options(&["-opaque-pointers".to_owned()]);
                    let context = (self.api.LLVMContextCreate)();
                    module::parse(&self.api, context, &run.input, &run.name)
                }
                other => other,
            }
            .map_err(Refusal::BadInput)
        }
    }

    /// A target machine for the module's triple, or null: without one, target passes do nothing.
    ///
    /// # Safety
    /// `module` must be alive.
    unsafe fn machine(&self, module: Ref, run: &Run) -> Ref {
        let api = &self.api;
        // SAFETY: promised by the caller.
        unsafe {
            let triple = (api.LLVMGetTarget)(module);
            let mut target = std::ptr::null_mut();
            let mut message = std::ptr::null_mut();
            if *triple == 0 || (api.LLVMGetTargetFromTriple)(triple, &mut target, &mut message) != 0
            {
                return std::ptr::null_mut();
            }
            let (cpu, features) = (c_string(&run.cpu), c_string(&run.features));
            // Level -O2, relocation and code model by default.
            (api.LLVMCreateTargetMachine)(target, triple, cpu.as_ptr(), features.as_ptr(), 2, 0, 0)
        }
    }

    /// # Safety
    /// `module` must be alive.
    unsafe fn verify(&self, module: Ref) -> Result<(), String> {
        /// LLVMReturnStatusAction
        const RETURN_STATUS: i32 = 2;
        let mut message = std::ptr::null_mut();
        // SAFETY: promised by the caller.
        unsafe {
            let broken = (self.api.LLVMVerifyModule)(module, RETURN_STATUS, &mut message) != 0;
            let text = self.api.take_message(message);
            match broken {
                true => Err(text.trim().to_owned()),
                false => Ok(()),
            }
        }
    }
}

/// A module ready for a pass.
struct Prepared {
    module: Ref,
    machine: Ref,
}

fn self_check(before: &[Function], after: &[Function], recording: &Recording) -> SelfCheck {
    let mut check = SelfCheck::default();
    let mut home = rustc_hash::FxHashMap::default();
    for block in before.iter().flat_map(|function| &function.blocks) {
        for id in block.insts.iter().filter_map(|one| one.id) {
            home.insert(id, block.address);
        }
    }
    let mut moved = std::collections::BTreeSet::new();
    for event in &recording.events {
        if matches!(event.deed, crate::event::Deed::Move { .. }) {
            moved.insert(event.on);
        }
    }
    for block in after.iter().flat_map(|function| &function.blocks) {
        for one in &block.insts {
            check.instructions += 1;
            match one.id {
                None => check.unknown += 1,
                Some(id) if recording.is_new(id) => check.new += 1,
                Some(id) => {
                    let stayed = home.get(&id) == Some(&block.address);
                    let reinserted = recording.insertions.contains_key(&id);
                    check.unseen_moves +=
                        usize::from(!stayed && !moved.contains(&id) && !reinserted);
                }
            }
        }
    }
    check
}

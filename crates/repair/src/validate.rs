//! What a debugger shows at each instruction, against the source program on the same memory: before and after the repair.
//!
//! The repaired program is run by the native engine to the first call of a function and walked through, instruction by instruction. The
//! source program (the -O0 IR that the proof is about) is interpreted on the memory of that very moment. The proof's edges
//! tell which visits of source loop heads lie between two visits of machine loop heads; a shown value is *right* if the variable has it
//! somewhere between these. An object is linked with a `main` that fills its globals and calls its functions.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use candor_dwarf::{
    Avma, Image, Machine, Observation, PointerValue, Sight, Site, SiteOptions, Value,
};
use candor_prove::image::Code;
use candor_prove::ir::{Function, Module, Operand};
use candor_prove::live::{SourceRun, Surroundings, run};
use candor_prove::{MachineEnd, Proof};
use candor_toolchain::{Job, Limits, Sandbox, Scratch};
use candor_tracer::{Continue, Debugger, Launch, Query, Step, Walked, walk};
use serde::Serialize;

use crate::Error;
use crate::variables::variables_at;

/// Instructions walked through in one function, at most.
const MOST_STEPS: u64 = 300_000;
/// Times that one instruction is looked at, at most: the last instructions of a loop's last iteration count as much as the first ones.
const MOST_LOOKS: u32 = 1_000;
/// Wrong values that are told, at most.
const MOST_TOLD: usize = 5;
/// DWARF's numbers of the registers that hold arguments.
const ARGUMENTS: [u16; 6] = [5, 4, 1, 2, 8, 9];

/// Pairs of an executed instruction and a variable, by what a debugger shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// A value that the variable has there.
    pub right: u64,
    /// Another value.
    pub wrong: u64,
    /// No value.
    pub none: u64,
}

/// A function, walked through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Validated {
    /// Instructions executed.
    pub steps: u64,
    /// With the debug information as it was.
    pub before: Tally,
    /// With the new.
    pub after: Tally,
    /// Pairs of which the source does not tell a value.
    pub unknown: u64,
    /// The first wrong values with the new debug information.
    pub told: Vec<String>,
}

/// What became of the validation of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// It was walked through.
    Walked(Validated),
    /// It was not, and why.
    NotRun(String),
}

/// What a debugger shows at the first instructions of a function, against the native engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The same value.
    pub same: u64,
    /// No value, here and there.
    pub none: u64,
    /// Something else.
    pub other: u64,
    /// Not comparable, or not reached.
    pub unknown: u64,
    /// The first that are something else.
    pub told: Vec<String>,
}

/// Only what functions declare.
fn own_variables() -> SiteOptions {
    SiteOptions {
        globals: false,
        ..SiteOptions::default()
    }
}

/// The programs that are compared.
pub struct Programs {
    program: PathBuf,
    before: Image,
    after: Image,
    /// Whether `main` takes the name of a function.
    driven: bool,
    _folder: candor_toolchain::JobDirectory,
}

impl Programs {
    /// Makes both files ready to be run; `Err`: why they cannot be.
    pub fn new(
        sandbox: &Sandbox,
        scratch: &Scratch,
        module: &Module,
        functions: &[&str],
        before: &[u8],
        after: &[u8],
        relocatable: bool,
    ) -> Result<Result<Self, String>, Error> {
        let folder = scratch.job()?;
        let driven = relocatable && !module.functions.iter().any(|(name, _)| name == "main");
        let mut paths = Vec::new();
        for (name, bytes) in [("before", before), ("after", after)] {
            let path = folder.path().join(name);
            if relocatable {
                let object = folder.path().join(format!("{name}.o"));
                write(&object, bytes, 0o600)?;
                let driver = folder.path().join("driver.c");
                write(&driver, driver_text(module, functions).as_bytes(), 0o600)?;
                let mut link = Job::new("cc", folder.path()).args([
                    "-O0",
                    "-w",
                    "-Wl,--unresolved-symbols=ignore-all",
                    "-no-pie",
                ]);
                if driven {
                    link = link.arg(driver.as_os_str());
                }
                link = link.arg(object.as_os_str()).arg("-o").arg(path.as_os_str());
                let finished = sandbox.run(&link, &Limits::compiler())?;
                if !finished.ending.success() {
                    let message = finished.stderr_text();
                    let first = message.lines().next().unwrap_or("no message").to_owned();
                    return Ok(Err(format!("it could not be linked: {first}")));
                }
            } else {
                write(&path, bytes, 0o700)?;
            }
            paths.push(path);
        }
        let mut images = Vec::new();
        for path in &paths {
            match Image::open(path) {
                Ok(image) => images.push(image),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        let (Some(after), Some(before), Some(program)) = (images.pop(), images.pop(), paths.pop())
        else {
            return Ok(Err("a program is missing".to_owned()));
        };
        Ok(Ok(Programs {
            program,
            before,
            after,
            driven,
            _folder: folder,
        }))
    }

    /// How the program is started so that it calls a function.
    fn launch(&self, function: &str) -> Launch {
        let directory = self.program.parent().unwrap_or(Path::new("/")).to_owned();
        let mut launch = Launch::new(&self.program, directory);
        launch.limits = Limits {
            cpu: std::time::Duration::from_secs(60),
            wall: std::time::Duration::from_secs(120),
            ..Limits::program()
        };
        if self.driven {
            launch.arguments.push(function.into());
        }
        launch
    }

    /// What a debugger shows of the repaired program at the first instructions of a function's first call, against the native
    /// engine. `Err`: why nothing could be asked.
    pub fn ask(
        &self,
        sandbox: &Sandbox,
        debugger: &Debugger,
        function: &str,
        most: usize,
    ) -> Result<Asked, String> {
        let launch = self.launch(function);
        let options = own_variables();
        let mut visits: HashMap<u64, u32> = HashMap::new();
        let mut queries: Vec<Query> = Vec::new();
        let mut seen: Vec<Vec<Observation>> = Vec::new();
        let mut look = |step: &Step<'_>| {
            let visit = visits.entry(step.pc.0).or_default();
            *visit += 1;
            if let Ok(site) = self.after.site(step.pc, &options) {
                let mut sight = Sight::default();
                self.after.look(&site, step.machine, &mut sight);
                let leaves = site.leaves().iter().map(|leaf| leaf.key.clone()).collect();
                queries.push(Query {
                    pc: step.pc,
                    visit: *visit,
                    leaves,
                });
                seen.push(sight.observations().to_vec());
            }
            if queries.len() < most {
                Continue::Yes
            } else {
                Continue::No
            }
        };
        walk(sandbox, &self.after, &launch, function, &mut look)
            .map_err(|error| error.to_string())?;
        let limit = std::time::Duration::from_secs(120);
        let session = debugger
            .ask(sandbox, &self.after, &launch, &queries, limit)
            .map_err(|error| error.to_string())?;
        let mut asked = Asked::default();
        for ((query, ours), theirs) in queries.iter().zip(&seen).zip(&session.answers) {
            for ((leaf, ours), theirs) in query.leaves.iter().zip(ours).zip(theirs) {
                match theirs.agrees(ours) {
                    None => asked.unknown += 1,
                    Some(true) if ours.value().is_some() => asked.same += 1,
                    Some(true) => asked.none += 1,
                    Some(false) => {
                        asked.other += 1;
                        if asked.told.len() < MOST_TOLD {
                            asked.told.push(format!(
                                "at {:#x}, visit {}: `{leaf}` is {theirs}, ours {ours}",
                                query.pc.0, query.visit
                            ));
                        }
                    }
                }
            }
        }
        Ok(asked)
    }

    /// Walks through the first call of a function.
    pub fn validate(
        &self,
        sandbox: &Sandbox,
        function: &Function,
        code: &Code,
        proof: &Proof,
    ) -> Result<Validation, Error> {
        let not_run = |why: String| Ok(Validation::NotRun(why));
        let Some(symbol) = self.after.symbol(&proof.function) else {
            return not_run("the program does not hold it".to_owned());
        };
        let launch = self.launch(&proof.function);
        let mut judge = Judge {
            programs: self,
            function,
            code,
            proof,
            start: symbol.address.0,
            bias: 0,
            source: None,
            trouble: None,
            sites: HashMap::new(),
            from: None,
            position: None,
            pending: Vec::new(),
            looks: HashMap::new(),
            done: Validated {
                steps: 0,
                before: Tally::default(),
                after: Tally::default(),
                unknown: 0,
                told: Vec::new(),
            },
        };
        let walked = walk(
            sandbox,
            &self.after,
            &launch,
            &proof.function,
            &mut |step| judge.step(step),
        );
        match walked {
            Err(error) => return not_run(error.to_string()),
            Ok(Walked::Returned) => judge.arrive(None),
            Ok(Walked::Enough) => {}
            Ok(Walked::Ended(outcome)) if judge.done.steps == 0 => {
                return not_run(format!("the program never called it ({outcome})"));
            }
            Ok(Walked::Ended(outcome)) => {
                return not_run(format!("the program ended within it: {outcome}"));
            }
        }
        match judge.trouble {
            Some(why) => not_run(why),
            None => Ok(Validation::Walked(judge.done)),
        }
    }
}

/// What was seen at one instruction.
struct Seen {
    at: u64,
    variable: (String, u32),
    bits: u32,
    before: Option<Value>,
    after: Option<Value>,
}

struct Judge<'a> {
    programs: &'a Programs,
    function: &'a Function,
    code: &'a Code,
    proof: &'a Proof,
    /// The function's address in the file.
    start: u64,
    /// How far the program is from where the file says.
    bias: u64,
    source: Option<SourceRun>,
    trouble: Option<String>,
    sites: HashMap<u64, [Option<Site>; 2]>,
    /// The machine loop head that was visited last.
    from: Option<u64>,
    /// The source visit that belongs to it.
    position: Option<usize>,
    pending: Vec<Seen>,
    looks: HashMap<u64, u32>,
    done: Validated,
}

impl Judge<'_> {
    fn step(&mut self, step: &Step<'_>) -> Continue {
        if self.done.steps == 0 {
            self.bias = step.machine.bias();
            match self.run_source(step.machine) {
                Ok(source) => self.source = Some(source),
                Err(why) => {
                    self.trouble = Some(why);
                    self.done.steps = 1;
                    return Continue::No;
                }
            }
        }
        let at = step.pc.0 - self.start + self.code.start;
        if self.code.heads.contains(&at) {
            self.arrive(Some(at));
        }
        if self.trouble.is_some() || self.done.steps >= MOST_STEPS {
            return Continue::No;
        }
        self.done.steps += 1;
        let looks = self.looks.entry(at).or_default();
        *looks += 1;
        if *looks <= MOST_LOOKS {
            self.look(at, step);
        }
        Continue::Yes
    }

    fn run_source(&self, machine: &dyn Machine) -> Result<SourceRun, String> {
        let around = Around {
            image: &self.programs.after,
            machine,
        };
        let params: Vec<u64> = ARGUMENTS
            .iter()
            .zip(&self.function.params)
            .map(|(register, _)| machine.register(*register).unwrap_or(0) as u64)
            .collect();
        run(self.function, &params, &around)
    }

    /// Notes what both debug informations show.
    fn look(&mut self, at: u64, step: &Step<'_>) {
        let options = own_variables();
        let programs = self.programs;
        let sites = self.sites.entry(at).or_insert_with(|| {
            [&programs.before, &programs.after].map(|image| image.site(step.pc, &options).ok())
        });
        let mut seen: Vec<Seen> = Vec::new();
        for (number, (site, image)) in sites
            .iter()
            .zip([&programs.before, &programs.after])
            .enumerate()
        {
            let Some(site) = site else { continue };
            let mut sight = Sight::default();
            image.look(site, step.machine, &mut sight);
            for (leaf, observation) in site.leaves().iter().zip(sight.observations()) {
                if !leaf.key.path.is_empty() || leaf.key.depth != 0 {
                    continue;
                }
                let value = match observation {
                    Observation::Value(Value::Float { .. }) => continue,
                    Observation::Value(Value::Pointer(PointerValue::Synthetic { .. })) => None,
                    Observation::Value(value) => Some(value.clone()),
                    _ => None,
                };
                let variable = (leaf.key.variable.to_string(), leaf.key.decl_line.0);
                let slot = match seen.iter_mut().find(|one| one.variable == variable) {
                    Some(slot) => slot,
                    None => {
                        seen.push(Seen {
                            at,
                            variable,
                            bits: leaf.bit_size,
                            before: None,
                            after: None,
                        });
                        let last = seen.len() - 1;
                        &mut seen[last]
                    }
                };
                if number == 0 {
                    slot.before = value;
                } else {
                    slot.after = value;
                }
            }
        }
        self.pending.extend(seen);
    }

    /// The machine is at a loop head, or has returned: what was seen since the last one is judged.
    fn arrive(&mut self, head: Option<u64>) {
        let Some(source) = &self.source else { return };
        let last = source.visits.len().saturating_sub(1);
        let next = match head {
            None => Some(last),
            Some(at) => self.advanced(at, source),
        };
        let Some(next) = next else {
            self.trouble =
                Some("which source iteration the machine code is in could not be told".to_owned());
            return;
        };
        let window = self.position.unwrap_or(0)..=next;
        let mut truths: HashMap<(String, u32), BTreeSet<u64>> = HashMap::new();
        for visit in &source.visits[window.clone()] {
            let Some(block) = visit.head else { continue };
            for (variable, operand) in variables_at(self.function, block) {
                let value = match operand {
                    Operand::Value(id) => visit.values.get(&id).copied(),
                    Operand::Number(number) => Some(number),
                    Operand::Global(name, offset) => self
                        .programs
                        .after
                        .symbol(&name)
                        .map(|one| one.address.loaded(self.bias).0.wrapping_add_signed(offset)),
                };
                if let Some(value) = value {
                    truths.entry(variable).or_default().insert(value);
                }
            }
        }
        // what was assigned between these visits
        let first = source
            .taken
            .partition_point(|(visits, ..)| *visits < self.position.map_or(0, |at| at + 1));
        for (visits, name, line, value) in &source.taken[first..] {
            if *visits > next + 1 {
                break;
            }
            let variable = (name.clone(), *line);
            truths.entry(variable).or_default().insert(*value);
        }
        for seen in std::mem::take(&mut self.pending) {
            let mask = u64::MAX >> (64 - seen.bits.clamp(1, 64));
            let Some(truth) = truths.get(&seen.variable) else {
                self.done.unknown += 1;
                continue;
            };
            let truth: BTreeSet<u64> = truth.iter().map(|value| value & mask).collect();
            let is_true = |shown: &Value| match shown {
                Value::Signed(value) => truth.contains(&(*value as u64 & mask)),
                Value::Unsigned(value) => truth.contains(&(*value as u64 & mask)),
                Value::Pointer(shown) => truth
                    .iter()
                    .any(|raw| self.programs.after.pointer(Avma(*raw), self.bias) == *shown),
                Value::Float { .. } | Value::Variant(_) => false,
            };
            let judge = |tally: &mut Tally, shown: &Option<Value>| match shown {
                None => tally.none += 1,
                Some(value) if is_true(value) => tally.right += 1,
                Some(_) => tally.wrong += 1,
            };
            judge(&mut self.done.before, &seen.before);
            let wrong = self.done.after.wrong;
            judge(&mut self.done.after, &seen.after);
            if self.done.after.wrong > wrong && self.done.told.len() < MOST_TOLD {
                let shown = seen.after.map_or(String::new(), |value| value.to_string());
                self.done.told.push(format!(
                    "at {:#x} `{}` is shown as {shown}, the source has {truth:?}",
                    seen.at, seen.variable.0,
                ));
            }
        }
        self.from = head;
        self.position = Some(next);
    }

    /// The source visit of a machine loop head: the only one that the proof's edge allows.
    fn advanced(&self, at: u64, source: &SourceRun) -> Option<usize> {
        let edge = self
            .proof
            .edges
            .iter()
            .find(|edge| edge.from == self.from && edge.to == MachineEnd::Head(at))?;
        let node = self.proof.nodes.iter().find(|node| node.at == at)?;
        let mut possible = edge
            .edge
            .steps
            .iter()
            .map(|steps| match self.position {
                Some(position) => position + steps,
                None => steps.saturating_sub(1),
            })
            .filter(|visit| {
                source
                    .visits
                    .get(*visit)
                    .is_some_and(|visit| visit.head == Some(node.head))
            });
        let first = possible.next()?;
        possible.next().is_none().then_some(first)
    }
}

/// A running program as the source sees it.
struct Around<'a> {
    image: &'a Image,
    machine: &'a dyn Machine,
}

impl Surroundings for Around<'_> {
    fn global(&self, name: &str) -> Option<u64> {
        let symbol = self.image.symbol(name)?;
        Some(symbol.address.loaded(self.machine.bias()).0)
    }

    fn byte(&self, address: u64) -> Option<u8> {
        let mut byte = [0];
        self.machine
            .read(Avma(address), &mut byte)
            .then_some(byte[0])
    }
}

/// A `main` that fills the globals with numbers from 0 to 63, which may be indices, and calls the function that it is told.
fn driver_text(module: &Module, functions: &[&str]) -> String {
    let plain = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut text = String::from(
        "#include <string.h>\nstatic char heap[1 << 20] __attribute__((aligned(64)));\n\
         static void fill(char *at, unsigned long size) {\n\
             unsigned x = 12345;\n\
             for (unsigned long i = 0; at && i + 4 <= size; i += 4) {\n\
                 x = x * 1103515245u + 12345u;\n\
                 unsigned value = x >> 16 & 63;\n\
                 memcpy(at + i, &value, 4);\n    }\n}\n",
    );
    let globals: Vec<(&String, &u64)> = module
        .globals
        .iter()
        .filter(|(name, _)| plain(name) && !module.constants.contains(*name))
        .collect();
    for (name, _) in &globals {
        let _ = writeln!(text, "extern char {name}[] __attribute__((weak));");
    }
    let called: Vec<&Function> = module
        .functions
        .iter()
        .filter(|(name, _)| plain(name) && functions.contains(&name.as_str()))
        .filter_map(|(_, function)| function.as_ref().ok())
        .collect();
    for function in &called {
        let _ = writeln!(
            text,
            "extern unsigned long {}() __attribute__((weak));",
            function.name
        );
    }
    text.push_str("int main(int argc, char **argv) {\n    fill(heap, sizeof heap);\n");
    for (name, size) in &globals {
        let _ = writeln!(text, "    fill({name}, {size});");
    }
    for function in &called {
        let mut pointers = 0;
        let arguments: Vec<String> = function
            .params
            .iter()
            .map(|param| {
                if param.pointer {
                    pointers += 1;
                    format!("heap + 0x{pointers}0000")
                } else {
                    "37ul".to_owned()
                }
            })
            .collect();
        let name = &function.name;
        let _ = writeln!(
            text,
            "    if (argc > 1 && !strcmp(argv[1], \"{name}\") && {name}) {name}({});",
            arguments.join(", ")
        );
    }
    text.push_str("    return 0;\n}\n");
    text
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let failed = |source| Error::File {
        doing: "write",
        path: path.to_owned(),
        source,
    };
    std::fs::write(path, bytes).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(failed)
}

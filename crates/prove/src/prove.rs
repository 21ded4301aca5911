//! One function, from the files to a verdict: traces, correlation, guessing, checking with Houdini's rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use candor_toolchain::{Job, Limits, Sandbox, Scratch};

use crate::Error;
use crate::correlate::{Correlation, correlate};
use crate::image::{Code, Image};
use crate::infer::{Evidence, infer, written_saved};
use crate::invariant::{Column, Definition, Invariant, Node};
use crate::ir::{Function, Inst, Module, ValueId};
use crate::memory::World;
use crate::product::{Dropped, Edge, Fail, From, Product};
use crate::propose::propose;
use crate::region::{MachineEnd, Signatures};
use crate::solver::{Cache, Solver, SolverSettings, Statistics};
use crate::term::Terms;
use crate::trace::{Difference, HEAP, Input, Mood, Run, Traced, trace};
use crate::verdict::{Outcome, Proof, Verdict};

/// How proofs are searched.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The solver.
    pub solver: SolverSettings,
    /// Time for one function.
    pub time: Duration,
    /// Decides the content of memory in traced runs.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            solver: SolverSettings::default(),
            time: Duration::from_secs(60),
            seed: 1,
        }
    }
}

/// Proves functions; one for all threads.
pub struct Prover<'a> {
    /// Where processes run.
    pub sandbox: &'a Sandbox,
    /// Where files go.
    pub scratch: &'a Scratch,
    /// How.
    pub settings: Settings,
    cache: Cache,
}

/// Houdini's rounds, at most.
const MOST_ROUNDS: usize = 40;
/// Correlations tried, at most.
const MOST_CORRELATIONS: usize = 6;
/// Source visits over all runs, at most.
const MOST_VISITS: usize = 400_000;

/// The source as LLVM IR, by clang -O0 and promotion of locals to registers.
pub fn source_ir(
    sandbox: &Sandbox,
    scratch: &Scratch,
    source: &Path,
    flags: &[String],
) -> Result<Module, Error> {
    let job = scratch.job()?;
    let path = std::path::absolute(source).map_err(|error| Error::File {
        doing: "find",
        path: source.to_owned(),
        source: error,
    })?;
    std::fs::metadata(&path).map_err(|error| Error::File {
        doing: "read",
        path: source.to_owned(),
        source: error,
    })?;
    let (clang, opt) = find_clang()?;
    let compile = Job::new(&clang, job.path())
        .args([
            "-O0",
            "-g",
            "-Xclang",
            "-disable-O0-optnone",
            "-fno-discard-value-names",
        ])
        .args(["-w", "-S", "-emit-llvm", "-o", "source.ll"])
        .args(flags.iter().map(String::as_str))
        .arg(path.as_os_str());
    let refuse = |command: &str, message: String| Error::Source {
        path: source.to_owned(),
        command: command.to_owned(),
        message: message
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or_else(|| {
                message
                    .lines()
                    .next()
                    .unwrap_or("it ended without a message")
            })
            .to_owned(),
    };
    let finished = sandbox.run(&compile, &Limits::compiler())?;
    if !finished.ending.success() {
        return Err(refuse(&clang, finished.stderr_text()));
    }
    let promote =
        Job::new(&opt, job.path()).args(["-S", "-passes=mem2reg", "source.ll", "-o", "-"]);
    let limits = Limits {
        output: 256 << 20,
        ..Limits::compiler()
    };
    let finished = sandbox.run(&promote, &limits)?;
    if !finished.ending.success() {
        return Err(refuse(&opt, finished.stderr_text()));
    }
    let mut module = crate::ir::parse(&finished.stdout_text());
    module.origin = Some((path, flags.to_vec()));
    Ok(module)
}

/// The newest clang with an opt of its version.
pub(crate) fn find_clang() -> Result<(String, String), Error> {
    use candor_toolchain::sandbox::find_on_path;
    for version in (14..=22).rev() {
        let (clang, opt) = (format!("clang-{version}"), format!("opt-{version}"));
        if find_on_path(&clang).is_some() && find_on_path(&opt).is_some() {
            return Ok((clang, opt));
        }
    }
    Err(Error::Toolchain(candor_toolchain::Error::NotOnPath {
        program: "clang-19 and opt-19".to_owned(),
    }))
}

/// What belongs to one function.
pub(crate) struct Task<'a> {
    pub image: &'a Image,
    pub code: Code,
    pub function: &'a Function,
    pub calls: Signatures,
    pub saved: BTreeSet<usize>,
    pub grain: u8,
    pub objects: Vec<crate::image::Symbol>,
}

impl<'a> Task<'a> {
    /// Everything about a function, or why it cannot be proved.
    pub fn new(image: &'a Image, module: &'a Module, name: &str) -> Result<Self, String> {
        let function = module
            .functions
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, parsed)| parsed)
            .ok_or_else(|| format!("the source does not define `{name}`"))?;
        let function = function.as_ref().map_err(Clone::clone)?;
        let code = image.code(name)?;
        let mut calls = Signatures::new();
        let mut named: BTreeSet<String> = BTreeSet::new();
        for block in &function.blocks {
            for step in &block.steps {
                if let Inst::Call {
                    callee,
                    arguments,
                    result,
                } = &step.inst
                {
                    let widths = arguments.iter().map(|(_, width)| *width).collect();
                    calls.insert(callee.clone(), (widths, *result));
                }
                for operand in step.inst.operands() {
                    if let crate::ir::Operand::Global(name, _) = operand {
                        named.insert(name.clone());
                    }
                }
            }
            for phi in &block.phis {
                for operand in phi.from.values() {
                    if let crate::ir::Operand::Global(name, _) = operand {
                        named.insert(name.clone());
                    }
                }
            }
        }
        let mut objects = Vec::new();
        for name in named {
            let Some(symbol) = image.symbols.get(&name) else {
                continue; // reported when the source needs its address
            };
            let mut symbol = symbol.clone();
            if let Some(size) = module.globals.get(&name) {
                if symbol.size == 0 {
                    symbol.size = *size;
                }
                if symbol.size != *size {
                    return Err(format!(
                        "`{name}` has {size} bytes in the source and {} in the object: they do not belong together",
                        symbol.size
                    ));
                }
            }
            objects.push(symbol);
        }
        let saved = written_saved(&code);
        let grain = function.access.0.min(machine_grain(&code)).clamp(1, 4);
        Ok(Task {
            image,
            code,
            function,
            calls,
            saved,
            grain,
            objects,
        })
    }

    /// Bytes of the numbers that initial memory consists of in traced runs.
    pub fn element(&self) -> u8 {
        let (least, most) = self.function.access;
        if least == most {
            most.min(8).max(self.grain)
        } else {
            self.grain.max(1)
        }
    }

    /// The product without nodes.
    pub fn product<'b>(
        &'b self,
        terms: Terms,
        deadline: Instant,
        interrupted: &'b dyn Fn() -> bool,
    ) -> Product<'b> {
        let mut t = terms;
        t.deadline = Some(deadline);
        let bases = (0..self.image.units.len())
            .map(|unit| t.var(&format!("unit {unit}"), 64))
            .collect();
        let rsp = t.var("rsp@entry", 64);
        let no_alias = self
            .function
            .params
            .iter()
            .filter(|param| param.no_alias)
            .map(|param| {
                t.var(
                    &crate::invariant::source_name(self.function, param.value),
                    64,
                )
            })
            .collect();
        Product {
            t,
            world: World {
                image: self.image,
                objects: self.objects.clone(),
                bases,
                rsp,
                no_alias,
                grain: self.grain,
            },
            code: &self.code,
            function: self.function,
            calls: &self.calls,
            saved: &self.saved,
            nodes: BTreeMap::new(),
            edges: BTreeMap::new(),
            stores: BTreeMap::new(),
            settled: BTreeMap::new(),
            modulus: modulus(&self.code, self.function),
            deadline,
            interrupted,
        }
    }
}

/// The smallest access of the machine code that is no access to constants or to the stack.
fn machine_grain(code: &Code) -> u8 {
    use iced_x86::Register;
    let mut least = 8;
    for at in &code.reached {
        let op = &code.ops[at];
        let raw = &op.raw;
        let accesses =
            (0..raw.op_count()).any(|index| raw.op_kind(index) == iced_x86::OpKind::Memory);
        let own_frame = matches!(raw.memory_base(), Register::RSP | Register::RBP);
        if accesses
            && !own_frame
            && !raw.is_ip_rel_memory_operand()
            && !matches!(
                raw.mnemonic(),
                iced_x86::Mnemonic::Lea | iced_x86::Mnemonic::Nop
            )
        {
            let size = raw.memory_size().size();
            if (1..least).contains(&size) && raw.memory_base() != Register::None {
                least = size;
            }
        }
    }
    least as u8
}

/// The power of two whose residues the machine code distinguishes for an integer parameter.
fn modulus(code: &Code, function: &Function) -> Option<u64> {
    use iced_x86::Mnemonic;
    if !function.params.iter().any(|param| param.width == 32) {
        return None;
    }
    let mut largest = 0u64;
    for at in &code.reached {
        let raw = &code.ops[at].raw;
        let immediate = (0..raw.op_count()).find_map(|index| raw.try_immediate(index).ok());
        let Some(immediate) = immediate else { continue };
        let candidate = match raw.mnemonic() {
            Mnemonic::Shr | Mnemonic::Sar if (1..=6).contains(&immediate) => 1 << immediate,
            Mnemonic::And | Mnemonic::Test => {
                let low = immediate & 0x7fff_ffff;
                let inverted = !low & 0x7fff_ffff;
                if low < 64 && (low + 1).is_power_of_two() {
                    low + 1
                } else if inverted < 64 && (inverted + 1).is_power_of_two() {
                    inverted + 1
                } else {
                    0
                }
            }
            _ => 0,
        };
        largest = largest.max(candidate);
    }
    (largest > 1 && largest <= 64).then_some(largest)
}

impl<'a> Prover<'a> {
    /// A prover.
    pub fn new(sandbox: &'a Sandbox, scratch: &'a Scratch, settings: Settings) -> Self {
        Prover {
            sandbox,
            scratch,
            settings,
            cache: Cache::default(),
        }
    }

    pub(crate) fn terms(&self) -> Result<Terms, Error> {
        let mut terms = Terms::new();
        let solver = Solver::new(
            self.sandbox,
            self.scratch,
            &self.settings.solver,
            &self.cache,
        )?;
        terms.solver = Some(Box::new(solver));
        Ok(terms)
    }

    /// Proves one function. Errors are of the surroundings (no solver); whatever the function is, there is a verdict.
    pub fn prove(&self, image: &Image, module: &Module, name: &str) -> Result<Verdict, Error> {
        let started = Instant::now();
        let mut verdict = Verdict::undecided(name, String::new());
        let task = match Task::new(image, module, name) {
            Ok(task) => task,
            Err(reason) => {
                verdict.outcome = Outcome::Undecided(reason);
                return Ok(verdict);
            }
        };
        verdict.line = task.function.line;
        let mut statistics = Statistics::default();
        verdict.outcome = self.search(&task, started, &mut statistics)?;
        if let Outcome::Different(difference) = verdict.outcome {
            verdict.outcome = self.confirm(&task, module, difference)?;
        }
        verdict.seconds = started.elapsed().as_secs_f64();
        verdict.queries = statistics.queries;
        verdict.cached = statistics.cached;
        verdict.solver_seconds = statistics.time.as_secs_f64();
        Ok(verdict)
    }

    fn search(
        &self,
        task: &Task<'_>,
        started: Instant,
        statistics: &mut Statistics,
    ) -> Result<Outcome, Error> {
        let deadline = started + self.settings.time;
        let runs = match self.traces(task) {
            Ok(Ok(runs)) => runs,
            Ok(Err(difference)) => return Ok(Outcome::Different(difference)),
            Err(reason) => return Ok(Outcome::Undecided(reason)),
        };
        let heads: Vec<_> = task.function.heads.iter().copied().collect();
        let mut correlations = match correlate(&runs, &heads) {
            Ok(found) => found,
            Err(reason) => return Ok(Outcome::Undecided(reason)),
        };
        let evidence =
            |correlation: &'_ Correlation, thorough: bool| -> Vec<Result<(Node, i64), String>> {
                let evidence = Evidence {
                    image: task.image,
                    code: &task.code,
                    function: task.function,
                    runs: &runs,
                    correlation,
                    saved: &task.saved,
                    thorough,
                };
                correlation
                    .heads
                    .keys()
                    .map(|at| infer(&evidence, *at, false))
                    .collect()
            };
        if correlations.len() > 1 {
            correlations.truncate(60);
            let mut scored: Vec<(i64, usize)> = Vec::new();
            for (index, correlation) in correlations.iter().enumerate() {
                let evidence = Evidence {
                    image: task.image,
                    code: &task.code,
                    function: task.function,
                    runs: &runs,
                    correlation,
                    saved: &task.saved,
                    thorough: false,
                };
                let score: i64 = correlation
                    .heads
                    .keys()
                    .filter_map(|at| infer(&evidence, *at, true).ok())
                    .map(|(_, score)| score)
                    .sum();
                scored.push((-score, index));
            }
            scored.sort_unstable();
            correlations = scored
                .into_iter()
                .map(|(_, index)| correlations[index].clone())
                .collect();
        }
        let tiers: &[(bool, usize)] = if task.function.params.is_empty() {
            &[(false, MOST_CORRELATIONS)]
        } else {
            &[(false, MOST_CORRELATIONS), (true, 2)]
        };
        let mut reason: Option<String> = None;
        let mut tried = 0;
        for (thorough, most) in tiers {
            for correlation in correlations.iter().take(*most) {
                tried += 1;
                let mut nodes = BTreeMap::new();
                let mut impossible = None;
                for found in evidence(correlation, *thorough) {
                    match found {
                        Ok((node, _)) => {
                            nodes.insert(node.at, node);
                        }
                        Err(why) => impossible = Some(why),
                    }
                }
                if let Some(why) = impossible {
                    reason.get_or_insert(why);
                    continue;
                }
                let interrupted = || self.sandbox.interrupted();
                let mut product = task.product(self.terms()?, deadline, &interrupted);
                product.nodes = nodes;
                product.edges = edges(&runs, correlation, task.function);
                let outcome = attempt(&mut product);
                let used = product.t.statistics.clone();
                statistics.queries += used.queries;
                statistics.cached += used.cached;
                statistics.time += used.time;
                match outcome {
                    Ok(rounds) => {
                        let proof = Proof::new(task, &product, rounds, tried);
                        return Ok(Outcome::Proved(Box::new(proof)));
                    }
                    Err(Fail::Interrupted) => {
                        return Err(Error::Toolchain(candor_toolchain::Error::Interrupted));
                    }
                    Err(fail) => {
                        let mut why = fail.to_string();
                        if let Some(unknown) = used.last_unknown {
                            why =
                                format!("{why} ({} questions unanswered: {unknown})", used.unknown);
                        }
                        reason.get_or_insert(why);
                        if fail == Fail::Time {
                            return Ok(Outcome::Undecided(reason.unwrap_or_default()));
                        }
                    }
                }
            }
        }
        Ok(Outcome::Undecided(reason.unwrap_or_default()))
    }

    /// Runs both programs on many inputs: runs that agree, or an input on which they differ, or why nothing can be run.
    fn traces(&self, task: &Task<'_>) -> Result<Result<Vec<Run>, Difference>, String> {
        let mut runs = Vec::new();
        let mut useless = None;
        let mut visits = 0;
        for input in inputs(task, self.settings.seed) {
            if visits > MOST_VISITS {
                break;
            }
            if self.sandbox.interrupted() {
                return Err("interrupted".to_owned());
            }
            let traced = trace(
                task.image,
                &task.code,
                task.function,
                &task.calls,
                &input,
                task.element(),
            )
            .map_err(|unsupported| format!("not supported: {}", unsupported.0))?;
            match traced {
                Traced::Alike(run) => {
                    visits += run.source.len() + run.machine.len();
                    runs.push(*run);
                }
                Traced::Different(difference) => return Ok(Err(difference)),
                Traced::Useless(why) => useless = Some(why),
            }
        }
        if runs.is_empty() {
            let why = useless.unwrap_or_else(|| "there are no inputs".to_owned());
            return Err(format!("no run of the function could be used: {why}"));
        }
        Ok(Ok(runs))
    }
}

/// Inputs for traced runs: several contents of memory; for parameters many numbers and apart or overlapping pointers.
fn inputs(task: &Task<'_>, seed: u64) -> Vec<Input> {
    let function = task.function;
    let mut all = Vec::new();
    if function.params.is_empty() {
        for (number, mood) in [Mood::Small, Mood::Any, Mood::Indices]
            .into_iter()
            .enumerate()
        {
            all.push(Input {
                params: Vec::new(),
                seed: seed.wrapping_add(number as u64),
                mood,
            });
        }
        return all;
    }
    let mut numbers: Vec<i64> = vec![
        37, 5, 64, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 23, 25,
        28, 29, 31, 32, 33, 34, 35, 40, 43, 47, 48, 56, 60, 63, 65, 66, 71, 96, 100, 127, 128, 129,
        131, 160, -3,
    ];
    for limit in compared_constants(&task.code) {
        for number in [limit - 1, limit, limit + 1] {
            if (0..400).contains(&number) && !numbers.contains(&number) {
                numbers.push(number);
            }
        }
    }
    let pointers = function.params.iter().any(|param| param.pointer);
    let restricted = function.params.iter().any(|param| param.no_alias);
    let integers = function
        .params
        .iter()
        .filter(|param| !param.pointer)
        .count();
    let distances = [
        0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -7, 9, -11, 30, -30, 8, -8, 16,
    ];
    let element = i64::from(function.access.1.max(1));
    let mut count = 0u64;
    for overlapping in [false, true] {
        if overlapping && (!pointers || restricted) {
            continue;
        }
        for (number, value) in numbers.iter().enumerate() {
            // with several integers: all equal, then mixtures
            let mixtures = if integers > 1 { 3 } else { 1 };
            for mixture in 0..mixtures {
                count += 1;
                let mut random = fastrand::Rng::with_seed(seed ^ count << 20);
                let mut pointer = 0i64;
                let mut integer = 0;
                let params = function
                    .params
                    .iter()
                    .map(|param| {
                        if param.pointer {
                            pointer += 1;
                            let at = if overlapping {
                                let distance = distances[number % distances.len()];
                                HEAP as i64 + 0x8000 + pointer * element * distance
                            } else {
                                HEAP as i64 + 0x1_0000 * pointer + element * random.i64(0..900)
                            };
                            return at as u64;
                        }
                        integer += 1;
                        let chosen = match (integer, mixture) {
                            (1, _) | (_, 0) => *value,
                            (_, 1) => (number as i64 % 5) + 1,
                            _ => numbers[random.usize(0..numbers.len())],
                        };
                        chosen as u64 & crate::term::mask(param.width)
                    })
                    .collect();
                all.push(Input {
                    params,
                    seed: seed.wrapping_add(count),
                    mood: match count % 5 {
                        1 | 3 => Mood::Any,
                        4 => Mood::Indices,
                        _ => Mood::Small,
                    },
                });
            }
        }
    }
    all
}

/// Constants that the machine code compares with: both sides of each should be tried.
fn compared_constants(code: &Code) -> BTreeSet<i64> {
    use iced_x86::Mnemonic;
    code.reached
        .iter()
        .map(|at| &code.ops[at].raw)
        .filter(|raw| {
            matches!(
                raw.mnemonic(),
                Mnemonic::Cmp | Mnemonic::Sub | Mnemonic::Add
            )
        })
        .filter_map(|raw| raw.try_immediate(1).ok())
        .map(|immediate| (immediate as i64).abs())
        .filter(|number| *number < 400)
        .collect()
}

/// The edges that runs took: source steps, and source values that never vary on an edge.
fn edges(
    runs: &[Run],
    correlation: &Correlation,
    function: &Function,
) -> BTreeMap<(From, MachineEnd), Edge> {
    let mut all: BTreeMap<(From, MachineEnd), Edge> = BTreeMap::new();
    let mut fixed: BTreeMap<(From, MachineEnd), BTreeMap<ValueId, Option<i64>>> = BTreeMap::new();
    for (run, map) in runs.iter().zip(&correlation.maps) {
        let mut from: From = None;
        let mut previous: Option<usize> = None;
        for (index, visit) in run.machine.iter().enumerate() {
            let key = (from, visit.at);
            let steps = match previous {
                Some(previous) => map[index] - previous,
                None => map[index] + 1,
            };
            all.entry(key).or_default().steps.insert(steps);
            if let Some(previous) = previous {
                let values = &run.source[previous].values;
                let known = fixed.entry(key).or_default();
                for (id, value) in values {
                    let width = function.value(*id).width;
                    let number = crate::term::signed(*value, width);
                    let slot = known.entry(*id).or_insert(Some(number));
                    if *slot != Some(number) {
                        *slot = None;
                    }
                }
            }
            if let MachineEnd::Head(at) = visit.at {
                from = Some(at);
            }
            previous = Some(map[index]);
        }
    }
    for (key, values) in fixed {
        if let Some(edge) = all.get_mut(&key) {
            edge.pins = values
                .into_iter()
                .filter_map(|(id, value)| value.map(|value| (id, value)))
                .collect();
        }
    }
    all
}

/// Proposes, then checks all edges and drops what does not hold until nothing is dropped. The rounds it took.
fn attempt(product: &mut Product<'_>) -> Result<usize, Fail> {
    if product.stalls() {
        return Err(Fail::Unproved(
            "the machine code would loop without a step of the source".to_owned(),
        ));
    }
    propose(product);
    for round in 1..=MOST_ROUNDS {
        let mut dropped = Vec::new();
        let failure = check_all(product, &mut dropped, true)?;
        if dropped.is_empty() {
            return match failure {
                Some(fail) => Err(fail),
                None => Ok(round),
            };
        }
    }
    Err(Fail::Unproved("the claims did not settle".to_owned()))
}

/// Checks the edges of every start; the first failure, and everything that does not hold. With `weaken`, that is dropped at once, so that
/// no edge is checked from claims which an earlier one has refuted; such a round proves nothing.
pub(crate) fn check_all(
    product: &mut Product<'_>,
    dropped: &mut Vec<Dropped>,
    weaken: bool,
) -> Result<Option<Fail>, Fail> {
    let mut failure = None;
    product.stores.clear();
    product.settled.clear();
    let starts: Vec<From> = std::iter::once(None)
        .chain(product.nodes.keys().map(|at| Some(*at)))
        .collect();
    for from in starts {
        let before = dropped.len();
        match product.check_from(from, dropped) {
            Ok(()) => {}
            Err(fail @ (Fail::Time | Fail::Interrupted)) => return Err(failure.unwrap_or(fail)),
            Err(fail) => {
                failure.get_or_insert(fail);
            }
        }
        if weaken {
            drop_claims(product, dropped[before..].to_vec());
        }
    }
    Ok(failure)
}

fn drop_claims(product: &mut Product<'_>, dropped: Vec<Dropped>) {
    for claim in dropped {
        match claim {
            Dropped::Hypothesis(at, hypothesis) => {
                if let Some(node) = product.nodes.get_mut(&at) {
                    node.hypotheses.retain(|other| *other != hypothesis);
                }
            }
            Dropped::Invariant(at, invariant) => {
                let Some(node) = product.nodes.get_mut(&at) else {
                    continue;
                };
                if !node.invariants.contains(&invariant) {
                    continue;
                }
                node.invariants.retain(|other| *other != invariant);
                // a 64-bit relation may still hold for the low half
                if let (
                    Column::Reg(number),
                    Definition::Affine {
                        terms,
                        constant,
                        width: 64,
                    },
                ) = (invariant.column, &invariant.by)
                    && !terms.is_empty()
                    && constant.unit.is_none()
                    && terms
                        .iter()
                        .all(|(_, column)| column.width(product.function) == 32)
                {
                    node.invariants.push(Invariant {
                        column: Column::LowAny(number),
                        by: Definition::Affine {
                            terms: terms.clone(),
                            constant: *constant,
                            width: 32,
                        },
                    });
                }
            }
        }
    }
}

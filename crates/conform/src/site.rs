//! Verdicts gathered by *site*: one place in a pass's source.
//!
//! A stack's innermost frames are IR infrastructure (constructors, IRBuilder); the first one outside is
//! the pass. For what the pass made and then moved to where it should not keep its location, the site
//! is the move.

use std::collections::{BTreeMap, BTreeSet};

use candor_llvm::attribute::{Frame, Names, SourceLine};
use candor_llvm::{Library, SelfCheck, Svma};

use crate::filters::Class;
use crate::input::Test;
use crate::pipeline::{base, passes};
use crate::session::Outcome;
use crate::update::{Origin, Required, Rule, Update};
use crate::verdict::{Confidence, Removed, Settings, Verdict, verdict};

/// The input that shows a site best: the smallest.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Example {
    /// Which test, by number in the list given.
    pub test: usize,
    /// Its name.
    pub name: String,
    /// Its pipeline.
    pub pipeline: String,
    /// The destination.
    pub update: Update,
    /// What is wrong with it.
    pub verdict: Verdict,
}

/// One place in a pass that handles locations wrongly.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Site {
    /// The return address in the library's file.
    pub address: Svma,
    /// Function and offset.
    pub frame: Frame,
    /// The inline stack there, if lines are known.
    pub lines: Vec<SourceLine>,
    /// The passes that were run.
    pub passes: BTreeSet<String>,
    /// What kind of error.
    pub class: Class,
    /// What the location should undergo.
    pub required: Option<Required>,
    /// The rules whose sources decided.
    pub rules: BTreeSet<Rule>,
    /// The highest of its verdicts.
    pub confidence: Confidence,
    /// Why that sure.
    pub reason: String,
    /// Opcodes of the destinations.
    pub opcodes: BTreeSet<String>,
    /// How many destinations.
    pub updates: usize,
    /// How many tests show it.
    pub tests: usize,
    /// The smallest input that shows it.
    pub example: Example,
    /// Where it was seen, for comparing versions.
    #[serde(skip)]
    pub witnesses: BTreeSet<Witness>,
}

/// An instruction that shows a site, in words that mean the same on every version: addresses and names of
/// new values do not, the test, its functions and the lines of its instructions do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Witness {
    /// The test's name.
    pub test: String,
    /// The function of the input.
    pub function: String,
    /// The instruction's opcode.
    pub opcode: String,
    /// The lines of the sources that decided.
    pub lines: BTreeSet<u32>,
}

impl Witness {
    fn new(test: &Test, update: &Update, verdict: &Verdict) -> Self {
        let sources = update
            .candidates
            .iter()
            .filter(|candidate| candidate.rule == verdict.rule)
            .flat_map(|candidate| &candidate.sources);
        Witness {
            test: test.name(),
            function: update.function.clone(),
            opcode: update.opcode.name().to_owned(),
            lines: sources
                .filter_map(|source| source.location.line())
                .collect(),
        }
    }
}

impl Site {
    /// `TailRecursionElimination.cpp:759`, else function and offset.
    pub fn place(&self) -> String {
        match self.line() {
            Some(line) if line.line > 0 => format!("{}:{}", line.file, line.line),
            _ => self.frame.describe(),
        }
    }

    /// The innermost line in a source file of LLVM's (not in a header).
    pub fn line(&self) -> Option<&SourceLine> {
        self.lines.iter().find(|line| line.file.ends_with(".cpp"))
    }

    /// The function of the pass, by the name it has in every version.
    pub fn function(&self) -> String {
        match &self.frame.name {
            Some(name) => name.plain.clone(),
            None => self.frame.describe(),
        }
    }
}

/// What happened to all tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Judged.
    pub judged: usize,
    /// Refused, crashed, looped, by test name with the reason.
    pub not_judged: Vec<(String, String)>,
    /// Destinations.
    pub destinations: usize,
    /// Whether every instruction was accounted for.
    pub check: SelfCheck,
    /// What filters removed.
    pub removed: Removed,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Findings {
    /// Sites, the surest first.
    pub sites: Vec<Site>,
    /// All tests.
    pub tally: Tally,
    /// Why some sites have no line although LLVM's source was given.
    pub without_lines: Vec<String>,
}

/// Gathers the verdicts on all outcomes.
pub fn findings(
    library: &Library,
    names: &Names,
    tests: &[Test],
    outcomes: &[Outcome],
    settings: &Settings,
) -> Findings {
    let mut frames = Frames {
        library,
        names,
        known: BTreeMap::new(),
    };
    let mut tally = Tally::default();
    let mut groups: BTreeMap<(Svma, Class, bool), Group> = BTreeMap::new();
    for (number, (test, outcome)) in tests.iter().zip(outcomes).enumerate() {
        let judgement = match outcome {
            Outcome::Judged(judgement) => judgement,
            Outcome::Refused(refusal) => {
                tally.not_judged.push((test.name(), refusal.to_string()));
                continue;
            }
            Outcome::Ended(ending) => {
                tally.not_judged.push((test.name(), ending.to_string()));
                continue;
            }
            Outcome::NotRun => continue,
        };
        tally.judged += 1;
        tally.destinations += judgement.destinations;
        tally.check += judgement.check;
        for update in &judgement.updates {
            let callers = frames.callers(&update.stack);
            let pipeline = &test.run.pipeline;
            let Some(verdict) = verdict(update, settings, pipeline, &callers, &mut tally.removed)
            else {
                continue;
            };
            let stack = match verdict.class == Class::ShouldDrop
                && update.origin != Origin::Moved
                && !update.move_stack.is_empty()
            {
                true => &update.move_stack,
                false => &update.stack,
            };
            let Some(frame) = frames.pass_frame(stack) else {
                continue;
            };
            // What is only shown on demand does not add to the counts of what is shown.
            let key = (
                frame.address,
                verdict.class,
                verdict.confidence > Confidence::Low,
            );
            groups
                .entry(key)
                .or_insert_with(|| Group::new(frame))
                .add(number, test, update, verdict);
        }
    }
    let mut sites: Vec<Site> = groups
        .into_iter()
        .filter_map(|((_, class, _), group)| group.site(class))
        .collect();
    sites.sort_by(|a, b| {
        (b.confidence, b.tests, a.address).cmp(&(a.confidence, a.tests, b.address))
    });
    Findings {
        sites,
        tally,
        without_lines: Vec::new(),
    }
}

/// Verdicts of one site.
struct Group {
    frame: Frame,
    passes: BTreeSet<String>,
    rules: BTreeSet<Rule>,
    opcodes: BTreeSet<String>,
    tests: BTreeSet<usize>,
    updates: usize,
    witnesses: BTreeSet<Witness>,
    best: Option<(Confidence, String)>,
    /// How often each operation is required, with the smallest input that shows it.
    required: BTreeMap<Option<Required>, (usize, usize, Example)>,
}

impl Group {
    fn new(frame: Frame) -> Self {
        Group {
            frame,
            passes: BTreeSet::new(),
            rules: BTreeSet::new(),
            opcodes: BTreeSet::new(),
            tests: BTreeSet::new(),
            updates: 0,
            witnesses: BTreeSet::new(),
            best: None,
            required: BTreeMap::new(),
        }
    }

    fn add(&mut self, number: usize, test: &Test, update: &Update, verdict: Verdict) {
        let pipeline = &test.run.pipeline;
        self.passes
            .extend(passes(pipeline).iter().map(|pass| base(pass).to_owned()));
        self.rules.insert(verdict.rule);
        self.opcodes.insert(update.opcode.name().to_owned());
        self.tests.insert(number);
        self.updates += 1;
        self.witnesses.insert(Witness::new(test, update, &verdict));
        if self
            .best
            .as_ref()
            .is_none_or(|(best, _)| verdict.confidence > *best)
        {
            self.best = Some((verdict.confidence, verdict.reason.clone()));
        }
        let size = test.run.input.len();
        let example = |verdict: Verdict| Example {
            test: number,
            name: test.name(),
            pipeline: pipeline.clone(),
            update: update.clone(),
            verdict,
        };
        match self.required.get_mut(&verdict.required) {
            Some((count, smallest, known)) => {
                *count += 1;
                if size < *smallest {
                    (*smallest, *known) = (size, example(verdict));
                }
            }
            None => {
                let required = verdict.required;
                self.required.insert(required, (1, size, example(verdict)));
            }
        }
    }

    /// One place in the source has one fix: where several operations are required, the one most often.
    fn site(self, class: Class) -> Option<Site> {
        let (confidence, reason) = self.best?;
        let (required, (_, _, example)) = self
            .required
            .into_iter()
            .max_by_key(|(required, (count, _, _))| (*count, *required))?;
        Some(Site {
            address: self.frame.address,
            frame: self.frame,
            lines: Vec::new(),
            passes: self.passes,
            class,
            required,
            rules: self.rules,
            confidence,
            reason,
            opcodes: self.opcodes,
            updates: self.updates,
            tests: self.tests.len(),
            example,
            witnesses: self.witnesses,
        })
    }
}

/// Names addresses, each once.
struct Frames<'a> {
    library: &'a Library,
    names: &'a Names,
    known: BTreeMap<Svma, Frame>,
}

impl Frames<'_> {
    fn frame(&mut self, address: Svma) -> &Frame {
        let (library, names) = (self.library, self.names);
        self.known
            .entry(address)
            .or_insert_with(|| names.frame(library, address))
    }

    fn callers(&mut self, stack: &[Svma]) -> Vec<String> {
        stack
            .iter()
            .take(8)
            .map(|address| {
                let name = &self.frame(*address).name;
                name.as_ref()
                    .map_or_else(String::new, |name| name.plain.clone())
            })
            .collect()
    }

    /// The innermost frame of the library that is not IR infrastructure.
    fn pass_frame(&mut self, stack: &[Svma]) -> Option<Frame> {
        let inside: Vec<Svma> = stack
            .iter()
            .copied()
            .filter(|address| self.library.elf.contains(*address))
            .collect();
        for address in &inside {
            let complete = self.names.complete;
            let frame = self.frame(*address);
            if !is_infrastructure(frame, complete) {
                return Some(frame.clone());
            }
        }
        inside.first().map(|address| self.frame(*address).clone())
    }
}

/// Whether a frame belongs to the IR library itself: `lib/IR`, and the inline functions of its headers
/// (constructors, `Create`, IRBuilder, folders), which every object has a copy of.
fn is_infrastructure(frame: &Frame, complete: bool) -> bool {
    const HEADS: [&str; 14] = [
        "Instruction::",
        "BinaryOperator::",
        "UnaryOperator::",
        "CastInst::",
        "PHINode::",
        "BasicBlock::",
        "Value::",
        "User::",
        "SymbolTableListTraits",
        "iplist",
        "simple_ilist",
        "DebugLoc",
        "TrackingMDRef",
        "MetadataTracking",
    ];
    const PARTS: [&str; 6] = [
        "IRBuilder",
        "Folder::",
        "Inst::Create",
        "Inst::clone",
        "TargetFolder",
        "ilist",
    ];
    let Some(name) = &frame.name else {
        // Every function is named when archives are there, but for inline ones too short to place.
        return complete;
    };
    if name.part == "Core" {
        return true;
    }
    if name.file.is_some() && !name.part.is_empty() {
        return false;
    }
    let plain = &name.plain;
    let constructor = plain
        .rsplit("::")
        .nth(1)
        .is_some_and(|class| class.ends_with("Inst") || class.ends_with("Instruction"));
    constructor
        || HEADS.iter().any(|head| plain.starts_with(head))
        || PARTS.iter().any(|part| plain.contains(part))
}

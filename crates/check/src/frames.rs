//! Lines and frames of one optimised build against the reference's: at the k-th barrier call, does it show the line that
//! the call is on, and the functions and lines that led there?
//!
//! Where the compiler makes one call of two (they end in the same code), one address serves both and has one line: for
//! the other's visits that is wrong. It is said so, for it is another matter than a wrong line of a call of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use candor_dwarf::{Chain, ChainFrame, Image, Leaf, LeafKey, Line, Observation, ScalarKind, Svma};
use candor_tracer::{BARRIER, Stop, TracedFrame};
use serde::{Deserialize, Serialize};

use crate::chain::{Agreement, Circumstances, Outcome, agree};
use crate::compare::{Candidate, Spot, Suspect, SuspectKey};
use crate::finding::Kind;
use crate::plan::Plan;
use crate::recording::RecordedSite;
use crate::truth::Truth;

/// Barrier calls of one build, by what became of the functions and lines it shows there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCounts {
    /// As in the reference, as far up as can be compared.
    pub same: u64,
    /// The call is on another line.
    pub wrong_line: u64,
    /// Another function or chain of callers.
    pub wrong_frame: u64,
    /// The call is on no line.
    pub no_line: u64,
    /// Different, and it cannot be told whether it may be: tail calls, recursion that became a loop, shared code.
    pub undecided: u64,
}

impl FrameCounts {
    /// As many more of each as `other` has.
    pub(crate) fn add_all(&mut self, other: &FrameCounts) {
        self.same += other.same;
        self.wrong_line += other.wrong_line;
        self.wrong_frame += other.wrong_frame;
        self.no_line += other.no_line;
        self.undecided += other.undecided;
    }
}

/// What a candidate for a wrong line or frame is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameClue {
    /// The function and line that the reference has there.
    pub expected: TracedFrame,
    /// Those that are shown.
    pub shown: TracedFrame,
    /// Which frame of the optimised build it is, from 0.
    pub depth: usize,
    /// One call stands for several of the source.
    pub merged: bool,
}

/// A frame of the optimised build: its address, and which of the functions that share it.
type FramePlace = (Svma, u16);

/// A function and its line.
type SourceFrame = (Arc<str>, Option<Line>);

/// One difference, however often it is met.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    kind: Kind,
    function: Arc<str>,
    expected: Option<Line>,
    shown: SourceFrame,
    place: FramePlace,
}

/// Where it was first met, and how often in all.
struct Meeting {
    spot: Spot,
    call: u64,
    pc: Svma,
    hit: u32,
    depth: usize,
    expected: TracedFrame,
    times: u64,
}

/// Follows the chains of one build.
pub(crate) struct Frames {
    pub(crate) counts: FrameCounts,
    /// By numbers of chains: of the recording, of the build.
    known: HashMap<(u32, u32), Rc<Agreement>>,
    /// Which frames of the source a frame of the build stood for.
    served: HashMap<FramePlace, BTreeSet<SourceFrame>>,
    met: BTreeMap<Difference, Meeting>,
    /// By function of the source: how many statements it has.
    statements: HashMap<String, usize>,
    is_rust: bool,
}

impl Frames {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut statements: HashMap<String, usize> = HashMap::new();
        let functions = plan.unit.functions();
        for point in plan.points() {
            if let Some(function) = functions.get(point.function) {
                *statements.entry(function.name.clone()).or_default() += 1;
            }
        }
        Frames {
            counts: FrameCounts::default(),
            known: HashMap::new(),
            served: HashMap::new(),
            met: BTreeMap::new(),
            statements,
            is_rust: plan.unit.is_rust(),
        }
    }

    /// Compares the chains at a stop that is the recording's stop `now`; `None` where there is nothing to compare.
    pub(crate) fn weigh(
        &mut self,
        stop: &Stop<'_>,
        truth: &Truth,
        now: u64,
        (recorded, visit): (&RecordedSite, u32),
    ) -> Option<Rc<Agreement>> {
        if self.is_rust || truth.is_dropped(now) {
            return None;
        }
        let (id, expected) = truth.recording.above().chain(now)?;
        let (number, shown) = stop.chain?;
        if !truth.doubts.trusts(id) {
            return None;
        }
        let agreement = match self.known.get(&(id, number)) {
            Some(known) => known.clone(),
            None => {
                let agreement = Rc::new(self.compare(truth, id, expected, shown));
                self.known.insert((id, number), agreement.clone());
                agreement
            }
        };
        match agreement.outcome {
            Outcome::Same => self.counts.same += 1,
            Outcome::NoLine => self.counts.no_line += 1,
            Outcome::Undecided(_) => self.counts.undecided += 1,
            Outcome::Line | Outcome::Function => {
                let spot = Spot {
                    line: recorded.line.0,
                    point: recorded.point,
                    visit,
                    visits: recorded.visits,
                };
                self.differ(stop, spot, &agreement, expected, shown);
            }
        }
        Some(agreement)
    }

    fn compare(&mut self, truth: &Truth, id: u32, expected: &Chain, shown: &Chain) -> Agreement {
        let statements = &self.statements;
        let circumstances = Circumstances {
            is_certain: &|frame| truth.doubts.trusts_line(id, frame),
            // equal code has as many statements
            may_fold: &|a, b| match (statements.get(a), statements.get(b)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            },
        };
        let agreement = agree(expected, shown, &circumstances);
        for (want, got) in &agreement.pairs {
            if let Some(want) = expected.frames.get(*want) {
                let place = frame_place(shown, *got);
                let stands_for = (want.function.clone(), want.line);
                self.served.entry(place).or_default().insert(stands_for);
            }
        }
        agreement
    }

    fn differ(
        &mut self,
        stop: &Stop<'_>,
        spot: Spot,
        agreement: &Agreement,
        expected: &Chain,
        shown: &Chain,
    ) {
        let Some((at, depth)) = agreement.pairs.last().copied() else {
            return;
        };
        let (Some(want), Some(got)) = (expected.frames.get(at), shown.frames.get(depth)) else {
            return;
        };
        let kind = if depth == 0 && agreement.outcome == Outcome::Line {
            self.counts.wrong_line += 1;
            Kind::WrongLine
        } else {
            self.counts.wrong_frame += 1;
            Kind::WrongFrame
        };
        let difference = Difference {
            kind,
            function: want.function.clone(),
            expected: want.line,
            shown: (got.function.clone(), got.line),
            place: frame_place(shown, depth),
        };
        let meeting = self.met.entry(difference).or_insert_with(|| Meeting {
            spot,
            call: stop.sequence,
            pc: stop.pc,
            hit: stop.visit,
            depth,
            expected: traced(want),
            times: 0,
        });
        meeting.times += 1;
    }

    /// What seems wrong, per kind and function, what was merged apart from what was not.
    pub(crate) fn suspects(&self, plan: &Plan, image: &Image) -> BTreeMap<SuspectKey, Suspect> {
        let mut suspects: BTreeMap<SuspectKey, Suspect> = BTreeMap::new();
        let mut calls: Option<HashMap<CallSite, usize>> = None;
        let mut met: Vec<(&Difference, &Meeting)> = self.met.iter().collect();
        met.sort_by_key(|(_, meeting)| meeting.call);
        for (difference, meeting) in met {
            let several = self.served.get(&difference.place);
            let merged = several.is_some_and(|served| served.len() > 1)
                || meeting.depth == 0
                    && is_left_of_two(
                        plan,
                        image,
                        difference,
                        calls.get_or_insert_with(|| barrier_calls(image)),
                    );
            let name = match (difference.kind, merged) {
                (Kind::WrongLine, false) => "line",
                (Kind::WrongLine, true) => "merged line",
                (_, false) => "frame",
                (_, true) => "merged frame",
            };
            let function: Arc<str> = difference.function.clone();
            let key = (
                difference.kind,
                Some(function.to_string()),
                name.to_owned(),
                0,
            );
            let suspect = suspects.entry(key).or_default();
            let line = difference.expected.map_or(0, |line| line.0);
            let on_line = suspect.lines.entry(line).or_default();
            *on_line += meeting.times;
            if *on_line == meeting.times && suspect.candidates.len() < crate::compare::CANDIDATES {
                suspect
                    .candidates
                    .push(candidate(difference, meeting, name, merged));
            }
        }
        suspects
    }
}

/// A line and an instance of a function.
type CallSite = (Option<Line>, Option<(u32, u32)>);

fn call_site(image: &Image, pc: Svma) -> CallSite {
    let row = image.line_at(pc).ok().flatten();
    (row.and_then(|row| row.line), image.instance_at(pc))
}

/// How many calls of the barrier a build has at each line of each instance of a function.
fn barrier_calls(image: &Image) -> HashMap<CallSite, usize> {
    let mut calls = HashMap::new();
    for back in image.returns_from(BARRIER) {
        *calls
            .entry(call_site(image, Svma(back.0.wrapping_sub(1))))
            .or_default() += 1;
    }
    calls
}

/// Whether the call is one of two that became one, where the run never came by for the other: it is on a line
/// of the source with statements, and no more calls are on that line, in this instance of its function, than statements.
fn is_left_of_two(
    plan: &Plan,
    image: &Image,
    difference: &Difference,
    calls: &HashMap<CallSite, usize>,
) -> bool {
    let (_, Some(line)) = &difference.shown else {
        return false;
    };
    let points = plan.chosen.iter().filter_map(|id| plan.points().get(*id));
    let on_line = points.filter(|point| point.debug_line == line.0).count();
    let site = call_site(image, difference.place.0);
    on_line > 0 && calls.get(&site).is_none_or(|calls| *calls <= on_line)
}

fn frame_place(shown: &Chain, depth: usize) -> FramePlace {
    let Some(frame) = shown.frames.get(depth) else {
        return (Svma(0), 0);
    };
    let first = shown
        .frames
        .iter()
        .position(|other| other.physical == frame.physical);
    (frame.pc, (depth - first.unwrap_or(depth)) as u16)
}

fn traced(frame: &ChainFrame) -> TracedFrame {
    TracedFrame {
        function: frame.function.to_string(),
        line: frame.line.map_or(0, |line| line.0),
    }
}

fn candidate(difference: &Difference, meeting: &Meeting, name: &str, merged: bool) -> Candidate {
    let path = match difference.kind {
        Kind::WrongFrame => format!("[{}]", meeting.depth),
        _ => String::new(),
    };
    let key = LeafKey {
        function: Some(difference.function.clone()),
        variable: name.into(),
        decl_line: Line(0),
        path: path.into(),
        depth: 0,
    };
    let (function, line) = &difference.shown;
    let shown = TracedFrame {
        function: function.to_string(),
        line: line.map_or(0, |line| line.0),
    };
    Candidate {
        kind: difference.kind,
        leaf: Leaf {
            key: key.clone(),
            kind: ScalarKind::Unsigned,
            signed: false,
            bit_offset: 0,
            bit_size: 0,
            shadowed: false,
            parameter: false,
            route: None,
            owning: Arc::from([]),
        },
        key,
        spot: meeting.spot,
        call: meeting.call,
        pc: meeting.pc,
        hit: meeting.hit,
        expected: None,
        held: None,
        shown: Observation::OptimisedOut,
        location: format!("line table or call line at {}", difference.place.0),
        clue: Some(FrameClue {
            expected: meeting.expected.clone(),
            shown,
            depth: meeting.depth,
            merged,
        }),
    }
}

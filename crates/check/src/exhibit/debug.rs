//! The exhibit of wrong debug information: one variable of one build, and what is around it.

use candor_dwarf::{Image, LeafKey, Svma};
use candor_toolchain::{Compiler, Program};

use super::source::{Shown, Stage, Tally, shown_text, truthfulness};
use super::{
    BuildState, Exhibit, History, Moment, Reproduction, SCHEMA, SourceRequest, State, Subject,
    build_name,
};
use crate::Error;
use crate::compare::{Glance, Onlooker};
use crate::finding::{Class, Counts, Kind};
use crate::plan::PointChoice;
use crate::recording::KeyId;
use crate::run::{Settings, Toolset};
use crate::save::{Place, files};

/// Moments of a history that are kept.
const MOST_MOMENTS: usize = 400;
/// Instructions before and after the stop.
const CODE_BEFORE: usize = 14;
const CODE_AFTER: usize = 8;

/// Wrong debug information to exhibit.
pub struct DebugRequest<'a> {
    /// The program, reduced.
    pub program: &'a Program,
    /// The same as it was found, if it was reduced.
    pub original: Option<&'a Program>,
    /// The compiler that is wrong.
    pub compiler: &'a Compiler,
    /// Level and flags.
    pub level: &'a str,
    /// What sort of finding.
    pub kind: Kind,
    /// The variable's function; `None` for a global.
    pub function: Option<&'a str>,
    /// The variable, with its path if that is known.
    pub variable: &'a str,
    /// Where it was seen; 0 if anywhere.
    pub line: u32,
    /// Choices of points to try until one shows it; the first that does is exhibited.
    pub points: Vec<PointChoice>,
    /// The builds of the matrix.
    pub builds: Vec<(&'a Compiler, String)>,
    /// Bounds.
    pub settings: Settings,
}

impl DebugRequest<'_> {
    /// Every point first, because it shows a value at every line; then the finding's own point alone.
    pub fn usual_points(line: u32, variable: &str) -> Vec<PointChoice> {
        let mut choices = vec![PointChoice::All];
        if line > 0 {
            choices.push(PointChoice::At {
                line,
                variable: variable.to_owned(),
            });
        }
        choices
    }

    fn root(&self) -> &str {
        candor_dwarf::without_part(self.variable)
            .trim_start_matches(['*', '(', '&'])
            .split(['.', '[', '-', ')'])
            .next()
            .unwrap_or(self.variable)
    }
}

/// Makes the exhibit. [`Error::Unfit`] when no choice of points shows the finding (any more).
pub fn debug(tools: &Toolset<'_>, request: &DebugRequest<'_>) -> Result<Exhibit, Error> {
    if request.kind.is_about_place() {
        return Err(Error::unfit(format!(
            "a {} has no values to show; its case and its replay do",
            request.kind
        )));
    }
    let workshop = tools.workshop;
    let mut missed = String::from("there is no point to look at");
    for points in &request.points {
        let stage = match Stage::set(tools, request.program, points, &request.settings) {
            Ok(stage) => stage,
            Err(Error::Unfit { reason }) => {
                missed = reason;
                continue;
            }
            // no barrier can stand at that one line: the next choice may do
            Err(Error::Source(error)) if request.points.len() > 1 => {
                missed = error.to_string();
                continue;
            }
            Err(error) => return Err(error),
        };
        let shown = match stage.build(request.compiler, request.level)? {
            Ok(shown) => shown,
            Err(reason) => return Err(Error::unfit(reason)),
        };
        let mut locator = Locator::new(request, &shown.image);
        if let Err(reason) = stage.watch(&shown, &mut Both(&stage, &mut locator))? {
            missed = reason;
            continue;
        }
        let Some(found) = locator.best else {
            missed = format!(
                "{} {} no longer shows a {} of `{}`",
                request.compiler.name,
                request.level,
                request.kind,
                request.root()
            );
            continue;
        };
        let mut exhibit = assemble(request, &stage, &shown, &found)?;
        exhibit.build = build_name(workshop, request.compiler, request.level)?;
        exhibit.source.build = exhibit.build.clone();
        if let PointChoice::At { line, .. } = points {
            exhibit.source.note = Some(format!(
                "Values are shown at line {line} only: the finding needs a build with a single barrier \
                 there, because further ones keep the optimiser from doing what it does."
            ));
        }
        exhibit.builds = matrix(request, &stage, &found)?;
        if let Some(original) = request.original {
            exhibit.whole = whole(tools, request, original)?;
        }
        return Ok(exhibit);
    }
    Err(Error::unfit(missed))
}

/// The program as it was found. That it cannot be shown is no reason to have no exhibit.
fn whole(
    tools: &Toolset<'_>,
    request: &DebugRequest<'_>,
    original: &Program,
) -> Result<Option<super::SourceView>, Error> {
    let views = truthfulness(
        tools,
        &SourceRequest {
            program: original,
            points: PointChoice::All,
            builds: vec![(request.compiler, request.level.to_owned())],
            settings: request.settings.clone(),
        },
    );
    match views {
        Ok(mut views) => Ok(views.pop()),
        Err(error) if error.is_interrupt() => Err(error),
        Err(_) => Ok(None),
    }
}

fn assemble(
    request: &DebugRequest<'_>,
    stage: &Stage<'_>,
    shown: &Shown,
    found: &Located,
) -> Result<Exhibit, Error> {
    let mut tally = Tally::new(stage, Some(found.id));
    let mut diary = Diary {
        id: found.id,
        all: Vec::new(),
        on_line: Vec::new(),
        line: found.subject.line,
        total: 0,
        total_on_line: 0,
    };
    // run again now that it is known whom to follow; the first run showed that this works
    if let Err(reason) = stage.watch(shown, &mut Pair(&mut tally, &mut diary))? {
        return Err(Error::unfit(reason));
    }
    let build = super::BuildName {
        compiler: request.compiler.name.clone(),
        version: request.compiler.version.to_string(),
        level: request.level.to_owned(),
        identity: String::new(),
    };
    let place = Place {
        stop: found.subject.stop,
        variable: &found.subject.variable,
        expected: found.subject.truth.as_deref().unwrap_or("a value"),
        frame: 0,
        backtrace: false,
        compiler: &request.compiler.name,
        level: request.level,
        lldb: request.compiler.family == candor_toolchain::Family::Clang,
    };
    let (files, commands) = files(request.program, &stage.plan.text, &place);
    Ok(Exhibit {
        schema: SCHEMA,
        subject: Some(found.subject.clone()),
        source: tally.view(build.clone()),
        build,
        history: diary.history(),
        builds: Vec::new(),
        locations: shown.image.location_list(
            found.key.function.as_deref().unwrap_or(""),
            &found.key.variable,
            found.key.decl_line.0,
        )?,
        code: shown
            .image
            .disassemble(Svma(found.subject.address), CODE_BEFORE, CODE_AFTER)?,
        runs: Vec::new(),
        reproduction: Reproduction { files, commands },
        whole: None,
    })
}

/// Every build, and whether it shows the same.
fn matrix(
    request: &DebugRequest<'_>,
    stage: &Stage<'_>,
    found: &Located,
) -> Result<Vec<BuildState>, Error> {
    let mut states = Vec::new();
    for (compiler, level) in &request.builds {
        let mut state = BuildState {
            compiler: compiler.name.clone(),
            version: compiler.version.to_string(),
            level: level.clone(),
            state: State::Failed,
            note: String::new(),
        };
        match stage.build(compiler, level)? {
            Ok(shown) => {
                let mut follow = Follow::new(request, stage, found);
                match stage.watch(&shown, &mut follow)? {
                    Ok(()) => (state.state, state.note) = follow.verdict(),
                    Err(reason) => state.note = reason,
                }
            }
            Err(reason) => state.note = reason,
        }
        states.push(state);
    }
    Ok(states)
}

/// Whether this sort of finding shows itself to the native engine as `class`.
fn shows(kind: Kind, class: Class) -> bool {
    match kind {
        Kind::WrongValue | Kind::WriteOnlyStatic | Kind::WrongReferent => class == Class::Wrong,
        Kind::IllFormedLocation => class == Class::IllFormed,
        // no value is wrong
        Kind::WrongLine | Kind::WrongFrame => false,
        // the debug information is right, or says nothing: the debugger is to blame
        Kind::DebuggerDisagrees | Kind::DebuggerCrash => class != Class::Unaligned,
    }
}

/// Where the finding is in this build.
struct Located {
    id: KeyId,
    key: LeafKey,
    subject: Subject,
}

/// Finds the best place to show the finding at: on its line, with its path, early.
struct Locator<'a> {
    request: &'a DebugRequest<'a>,
    image: &'a Image,
    rank: (bool, bool),
    best: Option<Located>,
}

impl<'a> Locator<'a> {
    fn new(request: &'a DebugRequest<'a>, image: &'a Image) -> Self {
        Locator {
            request,
            image,
            rank: (false, false),
            best: None,
        }
    }
}

/// Hands the locator the recording, which the onlooker interface does not carry.
struct Both<'a, 'b>(&'a Stage<'a>, &'b mut Locator<'a>);

impl Onlooker for Both<'_, '_> {
    fn glance(&mut self, glance: &Glance<'_>) {
        let Both(stage, locator) = self;
        let request = locator.request;
        let Some(leaf) = stage.truth.recording.leaf(glance.id) else {
            return;
        };
        let key = &leaf.key;
        if !shows(request.kind, glance.class)
            || *key.variable != *request.root()
            || key.function.as_deref() != request.function
        {
            return;
        }
        let rank = (
            request.line == 0 || glance.line == request.line,
            key.to_string() == request.variable,
        );
        if locator.best.is_some() && rank <= locator.rank {
            return;
        }
        let location = match (glance.stop.site, glance.index) {
            (Some(site), Some(index)) => locator.image.describe_location(site, index),
            _ => "no location".into(),
        };
        locator.rank = rank;
        locator.best = Some(Located {
            id: glance.id,
            key: key.clone(),
            subject: Subject {
                function: key.function.as_deref().map(str::to_owned),
                variable: key.to_string(),
                declared: key.decl_line.0,
                line: glance.line,
                visit: glance.visit,
                stop: glance.stop.sequence,
                truth: glance.truth.map(ToString::to_string),
                shown: shown_text(glance),
                class: glance.class,
                location,
                address: glance.stop.pc.0,
            },
        });
    }
}

/// Two onlookers at once.
struct Pair<'a>(&'a mut dyn Onlooker, &'a mut dyn Onlooker);

impl Onlooker for Pair<'_> {
    fn glance(&mut self, glance: &Glance<'_>) {
        self.0.glance(glance);
        self.1.glance(glance);
    }
}

/// Writes down every look at the subject.
struct Diary {
    id: KeyId,
    line: u32,
    all: Vec<Moment>,
    on_line: Vec<Moment>,
    total: u64,
    total_on_line: u64,
}

impl Onlooker for Diary {
    fn glance(&mut self, glance: &Glance<'_>) {
        if glance.id != self.id {
            return;
        }
        let moment = || Moment {
            stop: glance.stop.sequence,
            line: glance.line,
            visit: glance.visit,
            truth: glance.truth.map(ToString::to_string),
            shown: shown_text(glance),
            class: glance.class,
        };
        self.total += 1;
        if self.all.len() < MOST_MOMENTS {
            self.all.push(moment());
        }
        if glance.line == self.line {
            self.total_on_line += 1;
            if self.on_line.len() < MOST_MOMENTS {
                self.on_line.push(moment());
            }
        }
    }
}

impl Diary {
    /// Over the visits of the subject's line where there are several, else over all stops.
    fn history(self) -> History {
        if self.on_line.len() > 1 {
            History {
                line: Some(self.line),
                total: self.total_on_line,
                moments: self.on_line,
            }
        } else {
            History {
                line: None,
                total: self.total,
                moments: self.all,
            }
        }
    }
}

/// Follows the subject's variable through another build.
struct Follow<'a> {
    kind: Kind,
    stage: &'a Stage<'a>,
    found: &'a Located,
    /// What it shows at the subject's own stop.
    there: Option<(Class, String)>,
    /// The first place where it shows the same sort of finding.
    first: Option<(u32, String)>,
    counts: Counts,
}

impl<'a> Follow<'a> {
    fn new(request: &DebugRequest<'_>, stage: &'a Stage<'a>, found: &'a Located) -> Self {
        Follow {
            kind: request.kind,
            stage,
            found,
            there: None,
            first: None,
            counts: Counts::default(),
        }
    }

    fn verdict(self) -> (State, String) {
        let debugger = matches!(self.kind, Kind::DebuggerDisagrees | Kind::DebuggerCrash);
        match (self.there, self.first) {
            (Some((class, shown)), _) if !debugger && shows(self.kind, class) => {
                (State::Affected, format!("shows {shown}"))
            }
            (_, Some((line, shown))) if !debugger => {
                (State::Affected, format!("shows {shown} at line {line}"))
            }
            (Some((class, shown)), _) => match class {
                Class::Equal => (State::Right, format!("shows {shown}")),
                Class::OptimisedOut => (State::OptimisedOut, "optimised out".into()),
                Class::Unaligned | Class::Unreadable => (State::Unknown, class.words().into()),
                Class::Wrong | Class::IllFormed => (State::Affected, format!("shows {shown}")),
            },
            (None, _) => (
                State::from(self.counts),
                "not described at that stop".into(),
            ),
        }
    }
}

impl Onlooker for Follow<'_> {
    fn glance(&mut self, glance: &Glance<'_>) {
        let leaf = self.stage.truth.recording.leaf(glance.id);
        let Some(leaf) = leaf.filter(|leaf| {
            let (key, ours) = (&leaf.key, &self.found.key);
            key.variable == ours.variable
                && key.function == ours.function
                && key.decl_line == ours.decl_line
        }) else {
            return;
        };
        self.counts.add(glance.class);
        if glance.stop.sequence == self.found.subject.stop && leaf.key == self.found.key {
            self.there = Some((glance.class, shown_text(glance)));
        }
        if self.first.is_none() && shows(self.kind, glance.class) {
            self.first = Some((glance.line, shown_text(glance)));
        }
    }
}

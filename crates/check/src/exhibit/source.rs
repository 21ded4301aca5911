//! A program with, at each line, what the variables are and what a build shows of them.

use std::collections::BTreeMap;

use candor_dwarf::Image;
use candor_toolchain::{Compiler, Program};
use candor_tracer::{Mode, Outcome, trace};
use serde::{Deserialize, Serialize};

use super::{BuildName, build_name, flags};
use crate::Error;
use crate::compare::{Comparison, Glance, Onlooker};
use crate::finding::{Class, Counts};
use crate::plan::{Plan, PointChoice};
use crate::recording::KeyId;
use crate::run::{Settings, Toolset};
use crate::truth::{Truth, launch, options};
use crate::workshop::{Executable, Workshop};

/// Leaf × line pairs that are told apart; beyond them only counts are kept.
const MOST_TALLIES: usize = 100_000;
/// Values shown per line.
const MOST_VALUES: usize = 24;
/// Values shown per line of a program with more lines than this, where equal ones are left out.
const LONG_PROGRAM: usize = 400;
const MOST_VALUES_LONG: usize = 6;
/// Wrong parts of one aggregate that are listed one by one.
const MOST_PARTS: usize = 4;

/// A variable (or several parts of one) at a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The variable with its path; only its name where `parts` is above one.
    pub variable: String,
    /// The function; `None` for a global.
    pub function: Option<String>,
    /// How many scalars this stands for.
    pub parts: u32,
    /// What became of it, at its worst visit.
    pub class: Class,
    /// The true value at that visit, if known and one.
    pub truth: Option<String>,
    /// What is shown there, if one.
    pub shown: String,
    /// Which visit that is, from 1.
    pub visit: u32,
    /// What became of it at all visits.
    pub counts: Counts,
}

/// One line of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// Counted from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
    /// What became of all values at its stops.
    pub counts: Counts,
    /// Variables, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// How many more there are.
    #[serde(default)]
    pub more: u32,
}

/// A program and one build of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceView {
    /// The program's name.
    pub program: String,
    /// The build.
    pub build: BuildName,
    /// All values.
    pub counts: Counts,
    /// The lines.
    pub lines: Vec<SourceLine>,
    /// Why there are no values, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl SourceView {
    /// The text alone.
    pub(super) fn plain(program: &Program, build: BuildName, note: Option<String>) -> Self {
        SourceView {
            program: program.file_name(),
            build,
            counts: Counts::default(),
            lines: numbered(&program.text)
                .map(|(number, text)| SourceLine {
                    number,
                    text: text.to_owned(),
                    counts: Counts::default(),
                    values: Vec::new(),
                    more: 0,
                })
                .collect(),
            note,
        }
    }
}

fn numbered(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines())
}

/// A program whose truthfulness is wanted line by line.
pub struct SourceRequest<'a> {
    /// The program.
    pub program: &'a Program,
    /// Which points are looked at.
    pub points: PointChoice,
    /// The builds.
    pub builds: Vec<(&'a Compiler, String)>,
    /// Bounds.
    pub settings: Settings,
}

/// How truthful each line of a program is, build by build. The program was judged before: it is
/// not put through the sanitizers again.
pub fn truthfulness(
    tools: &Toolset<'_>,
    request: &SourceRequest<'_>,
) -> Result<Vec<SourceView>, Error> {
    let stage = Stage::set(tools, request.program, &request.points, &request.settings)?;
    let mut views = Vec::new();
    for (compiler, level) in &request.builds {
        let name = build_name(tools.workshop, compiler, level)?;
        views.push(match stage.build(compiler, level)? {
            Ok(shown) => {
                let mut tally = Tally::new(&stage, None);
                match stage.watch(&shown, &mut tally)? {
                    Ok(()) => tally.view(name),
                    Err(reason) => SourceView::plain(request.program, name, Some(reason)),
                }
            }
            Err(reason) => SourceView::plain(request.program, name, Some(reason)),
        });
    }
    Ok(views)
}

/// A program with its truth, on which builds are looked at one after the other.
pub(super) struct Stage<'a> {
    pub workshop: &'a Workshop<'a>,
    pub program: &'a Program,
    pub settings: &'a Settings,
    pub plan: Plan,
    pub truth: Truth,
}

/// A build that can be looked at.
pub(super) struct Shown {
    pub executable: Executable,
    pub image: Image,
}

impl<'a> Stage<'a> {
    pub fn set(
        tools: &Toolset<'a>,
        program: &'a Program,
        points: &PointChoice,
        settings: &'a Settings,
    ) -> Result<Self, Error> {
        let mut plan = Plan::new(tools.clang, program, points)?;
        // where barriers stand decides what the optimiser does; who is looked at does not
        plan.only = None;
        let truth = crate::fallback::establish(tools, program, &plan, None, settings)?.truth;
        Ok(Stage {
            workshop: tools.workshop,
            program,
            settings,
            plan,
            truth,
        })
    }

    /// Builds; the inner error says why there is no such build.
    pub fn build(&self, compiler: &Compiler, level: &str) -> Result<Result<Shown, String>, Error> {
        let built = self
            .workshop
            .build(compiler, self.program, &self.plan.text, &flags(level))?;
        Ok(match built {
            Ok(executable) => match Image::open(&executable.path) {
                Ok(image) => Ok(Shown { executable, image }),
                Err(error) => Err(error.to_string()),
            },
            Err(reason) => Err(reason),
        })
    }

    /// Runs a build under the eyes of `onlooker`; the inner error says why it cannot be compared.
    pub fn watch(
        &self,
        shown: &Shown,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Result<(), String>, Error> {
        let mut comparison = Comparison::new(&self.truth, &self.plan, &shown.image);
        comparison.onlooker = Some(onlooker);
        let summary = trace(
            self.workshop.sandbox,
            &shown.image,
            &launch(&shown.executable, self.program, self.settings),
            &Mode::barrier(),
            &options(self.settings),
            &mut comparison,
        )?;
        let cut = matches!(self.truth.outcome, Outcome::Enough | Outcome::StopLimit);
        let same = summary.outcome == self.truth.outcome && summary.stdout == self.truth.stdout;
        Ok(if cut || same {
            Ok(())
        } else {
            Err(format!("it behaves differently: {}", summary.outcome))
        })
    }
}

/// One leaf at one line.
#[derive(Clone, Debug)]
struct Entry {
    counts: Counts,
    class: Class,
    truth: Option<String>,
    shown: String,
    visit: u32,
}

/// Counts every value by line, and keeps the worst of each variable.
pub(super) struct Tally<'a> {
    stage: &'a Stage<'a>,
    long: bool,
    /// Comes first wherever it is visible.
    first: Option<KeyId>,
    lines: BTreeMap<u32, Counts>,
    counts: Counts,
    entries: BTreeMap<(u32, KeyId), Entry>,
}

impl<'a> Tally<'a> {
    pub fn new(stage: &'a Stage<'a>, first: Option<KeyId>) -> Self {
        Tally {
            stage,
            long: stage.program.text.lines().count() > LONG_PROGRAM,
            first,
            lines: BTreeMap::new(),
            counts: Counts::default(),
            entries: BTreeMap::new(),
        }
    }

    /// The program with what was seen.
    pub fn view(self, build: BuildName) -> SourceView {
        let most = if self.long {
            MOST_VALUES_LONG
        } else {
            MOST_VALUES
        };
        let mut by_line: BTreeMap<u32, Vec<(KeyId, Entry)>> = BTreeMap::new();
        for ((line, id), entry) in self.entries {
            by_line.entry(line).or_default().push((id, entry));
        }
        let mut view = SourceView::plain(self.stage.program, build, None);
        view.counts = self.counts;
        for line in &mut view.lines {
            line.counts = self.lines.get(&line.number).copied().unwrap_or_default();
            let entries = by_line.remove(&line.number).unwrap_or_default();
            let mut values = gathered(self.stage, entries, self.first);
            line.more = values.len().saturating_sub(most) as u32;
            values.truncate(most);
            line.values = values;
        }
        view
    }
}

impl Onlooker for Tally<'_> {
    fn glance(&mut self, glance: &Glance<'_>) {
        self.counts.add(glance.class);
        self.lines.entry(glance.line).or_default().add(glance.class);
        let wanted = !self.long || glance.class != Class::Equal || Some(glance.id) == self.first;
        let key = (glance.line, glance.id);
        let known = self.entries.get_mut(&key);
        if known.is_none() && (!wanted || self.entries.len() >= MOST_TALLIES) {
            return;
        }
        let entry = |mut counts: Counts| {
            counts.add(glance.class);
            Entry {
                counts,
                class: glance.class,
                truth: glance.truth.map(ToString::to_string),
                shown: shown_text(glance),
                visit: glance.visit,
            }
        };
        match self.entries.get_mut(&key) {
            Some(known) if known.class >= glance.class => known.counts.add(glance.class),
            Some(known) => *known = entry(known.counts),
            None => {
                self.entries.insert(key, entry(Counts::default()));
            }
        }
    }
}

/// What the build shows of a leaf, in words.
pub(super) fn shown_text(glance: &Glance<'_>) -> String {
    match glance.class {
        Class::Unaligned => "not comparable here".into(),
        _ => match glance
            .index
            .and_then(|index| glance.stop.observations.get(index))
        {
            Some(seen) => seen.to_string(),
            None => "<optimised out>".into(),
        },
    }
}

/// The values of one line: aggregates that are all alike become one entry, the worst come first,
/// then the subject, locals before globals.
fn gathered(stage: &Stage<'_>, entries: Vec<(KeyId, Entry)>, first: Option<KeyId>) -> Vec<Value> {
    type Name = (Option<String>, String, u32);
    let mut by_variable: BTreeMap<Name, Vec<(KeyId, Entry)>> = BTreeMap::new();
    for (id, entry) in entries {
        if let Some(leaf) = stage.truth.recording.leaf(id) {
            let key = &leaf.key;
            let function = key.function.as_deref().map(str::to_owned);
            let name = (function, key.variable.to_string(), key.decl_line.0);
            by_variable.entry(name).or_default().push((id, entry));
        }
    }
    let mut values: Vec<(bool, Value)> = Vec::new();
    for ((function, variable, _), mut parts) in by_variable {
        // the subject, then the worst; the order of the recording is that of the declaration
        parts.sort_by_key(|(id, entry)| (Some(*id) != first, std::cmp::Reverse(entry.class)));
        let alike = parts.len() > 1;
        let listed = |(place, (id, entry)): &(usize, (KeyId, Entry))| {
            !alike || Some(*id) == first || (entry.class > Class::Equal && *place < MOST_PARTS)
        };
        let (alone, together): (Vec<_>, Vec<_>) = parts.into_iter().enumerate().partition(listed);
        for (_, (id, entry)) in alone {
            let name = stage.truth.recording.leaf(id);
            values.push((
                Some(id) == first,
                Value {
                    variable: name.map_or_else(|| variable.clone(), |leaf| leaf.key.to_string()),
                    function: function.clone(),
                    parts: 1,
                    class: entry.class,
                    truth: entry.truth,
                    shown: entry.shown,
                    visit: entry.visit,
                    counts: entry.counts,
                },
            ));
        }
        let mut classes: BTreeMap<Class, (u32, Counts)> = BTreeMap::new();
        for (_, (_, entry)) in &together {
            let (parts, counts) = classes.entry(entry.class).or_default();
            *parts += 1;
            counts.equal += entry.counts.equal;
            counts.optimised_out += entry.counts.optimised_out;
            counts.wrong += entry.counts.wrong;
            counts.ill_formed += entry.counts.ill_formed;
            counts.unaligned += entry.counts.unaligned;
            counts.unreadable += entry.counts.unreadable;
        }
        for (class, (parts, counts)) in classes {
            values.push((
                false,
                Value {
                    variable: variable.clone(),
                    function: function.clone(),
                    parts,
                    class,
                    truth: None,
                    shown: class.words().into(),
                    visit: 1,
                    counts,
                },
            ));
        }
    }
    values.sort_by_key(|(is_first, value)| {
        (
            !is_first,
            std::cmp::Reverse(value.class),
            value.function.is_none(),
        )
    });
    values.into_iter().map(|(_, value)| value).collect()
}

//! What a store holds, as a report shows it. As JSON this is what `candor report --json` prints.

use std::collections::{BTreeMap, BTreeSet};

use candor_check::exhibit::{BuildState, Exhibit, State as BuildVerdict};
use candor_predicate::Case;
use candor_store::{Finding, Group, Hash, Metric, Seeds, State, Store, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::words::{compiler_key, kind_weight, level_key, slug};
use crate::{Culprit, Error};

/// The version of the JSON form.
pub const SCHEMA: u32 = 1;

/// Other findings of the same key that a dossier lists.
const MOST_DUPLICATES: usize = 50;

/// What was counted in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amounts {
    /// Programs judged, variants included.
    pub programs: u64,
    /// Programs that are no use as tests.
    pub rejected: u64,
    /// Builds.
    pub builds: u64,
    /// Builds whose debug information was compared.
    pub checks: u64,
    /// Values compared.
    pub values: u64,
    /// Findings, duplicates included.
    pub findings: u64,
    /// What could not be confirmed.
    pub undecided: u64,
}

impl Amounts {
    fn add(&mut self, metric: Metric, count: u64) {
        *match metric {
            Metric::Programs => &mut self.programs,
            Metric::Rejected => &mut self.rejected,
            Metric::Builds => &mut self.builds,
            Metric::Checks => &mut self.checks,
            Metric::Values => &mut self.values,
            Metric::Undecided => &mut self.undecided,
        } += count;
    }

    /// What was counted for the whole, else the sum over the compilers.
    fn or(self, sums: Amounts) -> Amounts {
        Amounts {
            programs: self.programs.max(sums.programs),
            rejected: self.rejected.max(sums.rejected),
            builds: self.builds.max(sums.builds),
            checks: self.checks.max(sums.checks),
            values: self.values.max(sums.values),
            findings: 0,
            undecided: self.undecided.max(sums.undecided),
        }
    }
}

/// One compiler of the campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompilerRow {
    /// Its command.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// Whose it is.
    pub family: String,
    /// What was done with it.
    pub amounts: Amounts,
    /// Findings blamed on it, duplicates included.
    pub findings: u64,
    /// Unique ones whose representative is its.
    pub unique: u64,
}

/// What was counted in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RatePoint {
    /// The interval's begin.
    pub time: Timestamp,
    /// What.
    pub amounts: Amounts,
}

/// A unique finding in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The representative's name.
    pub id: String,
    /// What sort.
    pub kind: String,
    /// One line for people.
    pub title: String,
    /// The compiler.
    pub compiler: String,
    /// Its release.
    pub version: String,
    /// Its family.
    pub family: String,
    /// The level.
    pub level: String,
    /// How much is known.
    pub state: State,
    /// The culprit pass.
    pub culprit: Option<String>,
    /// What makes it unique.
    pub key: String,
    /// How many findings share the key, this one included.
    pub findings: u64,
    /// When it was found.
    pub found: Timestamp,
    /// When the latest of its kind was.
    pub latest: Timestamp,
}

impl Entry {
    fn of(group: &Group) -> Entry {
        let finding = &group.representative;
        // the build is said beside it everywhere
        let prefix = format!("{} {}: ", finding.compiler, finding.level);
        let title = finding.title.strip_prefix(&prefix);
        let title = title.unwrap_or(&finding.title);
        Entry {
            id: finding.id.0.clone(),
            kind: finding.kind.clone(),
            // the line is one of the program as it was found
            title: match finding.state {
                State::Found => title,
                _ => title
                    .rsplit_once(" (line ")
                    .map_or(title, |(words, _)| words),
            }
            .to_owned(),
            compiler: finding.compiler.clone(),
            version: finding.version.clone(),
            family: finding.family.clone(),
            level: finding.level.clone(),
            state: finding.state,
            culprit: finding
                .culprit
                .as_ref()
                .and_then(Culprit::read)
                .map(|culprit| culprit.pass),
            key: group.key.clone(),
            findings: group.findings,
            found: finding.found,
            latest: group.latest,
        }
    }

    /// Its page's name.
    pub fn slug(&self) -> String {
        slug(&self.id)
    }
}

/// How often one kind was found, per compiler and level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindMatrix {
    /// The kind.
    pub kind: String,
    /// Compiler → level → findings, duplicates included.
    pub cells: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What ran, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of candor that hunted.
    pub candor: String,
    /// When the campaign began.
    pub begun: Option<Timestamp>,
    /// When it was last heard of.
    pub seen: Option<Timestamp>,
    /// Whether anybody works on it now.
    pub running: bool,
    /// How many processes worked on it.
    pub workers: usize,
    /// What was asked for.
    pub settings: Value,
    /// Seeds.
    pub seeds: Seeds,
    /// What was counted in all.
    pub amounts: Amounts,
    /// Per compiler.
    pub compilers: Vec<CompilerRow>,
    /// Levels met, in their usual order.
    pub levels: Vec<String>,
    /// Seconds per interval of `rates`.
    pub interval: u64,
    /// Over time.
    pub rates: Vec<RatePoint>,
    /// Findings by kind, compiler and level.
    pub matrix: Vec<KindMatrix>,
    /// Unique findings, the weightiest kinds first, the furthest improved first.
    pub findings: Vec<Entry>,
    /// The store's revision this was read at.
    #[serde(skip)]
    pub revision: u64,
}

impl Overview {
    /// Reads it.
    pub fn read(store: &dyn Store) -> Result<Overview, Error> {
        let revision = store.revision()?;
        let campaign = store.campaign()?;
        let workers = store.workers()?;
        let samples = store.samples()?;
        let findings = store.findings()?;
        let groups = store.groups()?;
        let settings = campaign
            .as_ref()
            .map_or(Value::Null, |campaign| campaign.settings.clone());

        // some things are counted per compiler, some not, some both ways
        let mut amounts = (Amounts::default(), Amounts::default());
        let mut rates: BTreeMap<Timestamp, (Amounts, Amounts)> = BTreeMap::new();
        let mut by_compiler: BTreeMap<String, Amounts> = BTreeMap::new();
        for sample in &samples.samples {
            let point = rates.entry(sample.time).or_default();
            let (whole, point) = if sample.compiler.is_empty() {
                (&mut amounts.0, &mut point.0)
            } else {
                let row = by_compiler.entry(sample.compiler.clone()).or_default();
                row.add(sample.metric, sample.count);
                (&mut amounts.1, &mut point.1)
            };
            whole.add(sample.metric, sample.count);
            point.add(sample.metric, sample.count);
        }
        let mut amounts = amounts.0.or(amounts.1);
        amounts.findings = findings.len() as u64;

        let mut entries: Vec<Entry> = groups.iter().map(Entry::of).collect();
        // the store's order (state, age) holds within a kind
        entries.sort_by_key(|entry| kind_weight(&entry.kind));
        let seen = workers.iter().map(|worker| worker.seen).max();
        Ok(Overview {
            schema: SCHEMA,
            candor: campaign
                .as_ref()
                .map_or_else(String::new, |campaign| campaign.candor.clone()),
            begun: campaign.as_ref().map(|campaign| campaign.created),
            seen: seen.max(findings.iter().map(|finding| finding.changed).max()),
            running: workers.iter().any(|worker| worker.alive),
            workers: workers.len(),
            seeds: store.seeds()?,
            amounts,
            compilers: compilers(&settings, &by_compiler, &findings, &entries),
            levels: levels(&settings, &findings),
            interval: samples.interval,
            rates: rates
                .into_iter()
                .map(|(time, (whole, sums))| RatePoint {
                    time,
                    amounts: whole.or(sums),
                })
                .collect(),
            matrix: matrix(&findings),
            findings: entries,
            settings,
            revision,
        })
    }

    /// From the begin to the last sign of life.
    pub fn duration(&self) -> Option<std::time::Duration> {
        Some(self.seen?.since(self.begun?))
    }
}

fn compilers(
    settings: &Value,
    amounts: &BTreeMap<String, Amounts>,
    findings: &[Finding],
    entries: &[Entry],
) -> Vec<CompilerRow> {
    let mut rows: BTreeMap<String, CompilerRow> = BTreeMap::new();
    let mut row = |command: &str, version: &str, family: &str| {
        rows.entry(command.to_owned())
            .or_insert_with(|| CompilerRow {
                compiler: command.to_owned(),
                version: version.to_owned(),
                family: family.to_owned(),
                amounts: amounts.get(command).copied().unwrap_or_default(),
                findings: 0,
                unique: 0,
            });
    };
    let known = settings.get("compilers").and_then(Value::as_array);
    for compiler in known.into_iter().flatten() {
        let word = |name: &str| compiler.get(name).and_then(Value::as_str).unwrap_or("");
        if !word("command").is_empty() {
            row(word("command"), word("version"), word("family"));
        }
    }
    for finding in findings {
        row(&finding.compiler, &finding.version, &finding.family);
    }
    for command in amounts.keys() {
        row(command, "", "");
    }
    for finding in findings {
        if let Some(row) = rows.get_mut(&finding.compiler) {
            row.findings += 1;
        }
    }
    for entry in entries {
        if let Some(row) = rows.get_mut(&entry.compiler) {
            row.unique += 1;
        }
    }
    let mut rows: Vec<CompilerRow> = rows.into_values().collect();
    rows.sort_by_key(|row| compiler_key(&row.compiler));
    rows
}

fn levels(settings: &Value, findings: &[Finding]) -> Vec<String> {
    let asked = settings.get("levels").and_then(Value::as_array);
    let asked = asked.into_iter().flatten().filter_map(Value::as_str);
    let met = findings.iter().map(|finding| finding.level.as_str());
    let all: BTreeSet<&str> = asked.chain(met).collect();
    let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    all.sort_by_key(|level| level_key(level));
    all
}

fn matrix(findings: &[Finding]) -> Vec<KindMatrix> {
    let mut kinds: BTreeMap<String, KindMatrix> = BTreeMap::new();
    for finding in findings {
        let matrix = kinds
            .entry(finding.kind.clone())
            .or_insert_with(|| KindMatrix {
                kind: finding.kind.clone(),
                cells: BTreeMap::new(),
            });
        let levels = matrix.cells.entry(finding.compiler.clone()).or_default();
        *levels.entry(finding.level.clone()).or_default() += 1;
    }
    let mut kinds: Vec<KindMatrix> = kinds.into_values().collect();
    kinds.sort_by_key(|matrix| (kind_weight(&matrix.kind), matrix.kind.clone()));
    kinds
}

/// Another finding with the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Duplicate {
    /// Its name.
    pub id: String,
    /// Its compiler.
    pub compiler: String,
    /// Its level.
    pub level: String,
    /// Its title.
    pub title: String,
    /// Where it comes from.
    pub origin: String,
}

/// Everything about one finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dossier {
    /// In one line.
    #[serde(flatten)]
    pub entry: Entry,
    /// Which findings look the same before the culprit is known.
    pub signature: String,
    /// Seed and variant it was found on.
    pub origin: String,
    /// The case: reduced, if it was.
    pub case: Option<Case>,
    /// Whether `case` is the reduced one.
    pub reduced: bool,
    /// Lines of the program as it was found.
    pub original_lines: usize,
    /// Who is to blame.
    pub culprit: Option<Culprit>,
    /// Builds that show it, as far as known.
    pub builds: Vec<BuildState>,
    /// The evidence.
    pub exhibit: Option<Exhibit>,
    /// Others with the same key, some of them.
    pub duplicates: Vec<Duplicate>,
    /// What could not be read of it, and why.
    pub unreadable: Vec<String>,
}

impl Dossier {
    /// Reads the one of `entry`.
    pub fn read(store: &dyn Store, entry: &Entry) -> Result<Dossier, Error> {
        Self::among(store, entry, &store.findings()?)
    }

    /// The same, given all findings: whoever reads many dossiers asks for those once.
    pub(crate) fn among(
        store: &dyn Store,
        entry: &Entry,
        all: &[Finding],
    ) -> Result<Dossier, Error> {
        // by its whole id: the store's own look-up takes beginnings too
        match all.iter().find(|finding| finding.id.0 == entry.id) {
            Some(finding) => Ok(Self::of(store, entry, finding, all)),
            None => Err(Error::Gone {
                id: entry.id.clone(),
            }),
        }
    }

    /// Reads all, in the order of the overview.
    pub fn read_all(store: &dyn Store, overview: &Overview) -> Result<Vec<Dossier>, Error> {
        let all = store.findings()?;
        let by_id: BTreeMap<&str, &Finding> = all.iter().map(|f| (f.id.0.as_str(), f)).collect();
        Ok(overview
            .findings
            .iter()
            .filter_map(|entry| {
                let finding = by_id.get(entry.id.as_str())?;
                Some(Self::of(store, entry, finding, &all))
            })
            .collect())
    }

    fn of(store: &dyn Store, entry: &Entry, finding: &Finding, all: &[Finding]) -> Dossier {
        let mut unreadable = Vec::new();
        // one damaged object is no reason to have no report
        let mut load = |what: &str, hash: &Hash| match store.case(hash) {
            Ok(value) => Some(value),
            Err(error) => {
                unreadable.push(format!("its {what}: {error}"));
                None
            }
        };
        let original = load("case", &finding.case);
        let reduced = finding
            .reduced
            .as_ref()
            .and_then(|hash| load("reduced case", hash));
        let exhibit = finding
            .exhibit
            .as_ref()
            .and_then(|hash| load("exhibit", hash));
        let original_lines = original
            .as_ref()
            .and_then(|case| case.pointer("/program/text"))
            .and_then(Value::as_str)
            .map_or(0, |text| text.lines().count());
        let is_reduced = reduced.is_some();
        let case = reduced.or(original).and_then(|value| {
            serde_json::from_value::<Case>(value)
                .map_err(|error| unreadable.push(format!("its case: {error}")))
                .ok()
        });
        let exhibit = exhibit.and_then(|value| {
            serde_json::from_value::<Exhibit>(value)
                .map_err(|error| unreadable.push(format!("its exhibit: {error}")))
                .ok()
        });
        let builds = match &exhibit {
            Some(exhibit) if !exhibit.builds.is_empty() => exhibit.builds.clone(),
            _ => affected(&finding.affected),
        };
        let same = |other: &&Finding| other.key == finding.key && other.id != finding.id;
        Dossier {
            entry: entry.clone(),
            signature: finding.signature.0.clone(),
            origin: origin(finding),
            case,
            reduced: is_reduced,
            original_lines,
            culprit: finding.culprit.as_ref().and_then(Culprit::read),
            builds,
            exhibit,
            duplicates: all
                .iter()
                .filter(same)
                .take(MOST_DUPLICATES)
                .map(|other| Duplicate {
                    id: other.id.0.clone(),
                    compiler: other.compiler.clone(),
                    level: other.level.clone(),
                    title: other.title.clone(),
                    origin: origin(other),
                })
                .collect(),
            unreadable,
        }
    }
}

fn origin(finding: &Finding) -> String {
    match finding.variant {
        Some(variant) if variant > 0 => {
            format!("{} {}, variant {variant}", finding.stream.0, finding.seed)
        }
        _ => format!("{} {}", finding.stream.0, finding.seed),
    }
}

/// What the hunt knows before anybody made an exhibit: compiler → levels.
fn affected(value: &Value) -> Vec<BuildState> {
    let mut states = Vec::new();
    for (compiler, levels) in value.as_object().into_iter().flatten() {
        let levels = levels.as_array().into_iter().flatten();
        for level in levels.filter_map(Value::as_str) {
            states.push(BuildState {
                compiler: compiler.clone(),
                version: String::new(),
                level: level.to_owned(),
                state: BuildVerdict::Affected,
                note: String::new(),
            });
        }
    }
    states
}

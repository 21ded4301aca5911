//! Two builds made by the user, no instrumentation of the source: the quiet oracle ([`crate::quiet`]) with one reference.
//!
//! The reference runs twice, with differently filled stacks, so that what its functions do not initialise is known.

use std::collections::BTreeMap;
use std::path::Path;

use candor_dwarf::Image;
use candor_toolchain::build::quote;
use candor_toolchain::{Limits, Sandbox, Scratch};
use candor_tracer::{Answer, Debugger, Launch, Mode, Query, Sink, TraceOptions, trace};

use crate::compare::{Candidate, Suspect};
use crate::confirm::{debugger_name, query};
use crate::finding::{Finding, Place, Report, RoundRow, Row, Signature, Undecided, relation};
use crate::quiet::Held;
use crate::rounds::Round;
use crate::{Error, Settings};

/// Two builds to be compared.
pub struct Request<'a> {
    /// The optimised one.
    pub binary: &'a Path,
    /// The -O0 one.
    pub reference: &'a Path,
    /// Arguments of the program.
    pub arguments: &'a [String],
    /// Its standard input.
    pub stdin: &'a [u8],
    /// Bounds.
    pub settings: Settings,
    /// Confirm findings.
    pub debuggers: &'a [Debugger],
    /// How it is called in reports; the binary's path where there is no better name.
    pub name: Option<String>,
    /// The command that shows a finding again, where the two files are not the user's own.
    pub replay: Option<String>,
}

impl Request<'_> {
    fn name(&self) -> String {
        let path = || self.binary.display().to_string();
        self.name.clone().unwrap_or_else(path)
    }

    fn replay(&self) -> String {
        let quoted = |path: &Path| quote(&path.display().to_string());
        self.replay.clone().unwrap_or_else(|| {
            format!(
                "candor check --binary {} --reference {}",
                quoted(self.binary),
                quoted(self.reference)
            )
        })
    }
}

/// Compares the two builds.
pub fn check(sandbox: &Sandbox, scratch: &Scratch, request: &Request<'_>) -> Result<Report, Error> {
    let directory = scratch.job()?;
    let launch = |program: &Path| {
        let mut launch = Launch::new(program, directory.path());
        launch.arguments = request.arguments.iter().map(Into::into).collect();
        if !request.stdin.is_empty() {
            launch.input = candor_tracer::Input::Bytes(request.stdin.to_vec());
        }
        launch.stdout = Sink::Capture;
        launch.limits = Limits::program().with_time(request.settings.time);
        launch.limits.wall = request.settings.time * 8;
        launch
    };
    let options = |stops: u64| TraceOptions {
        site: candor_dwarf::SiteOptions {
            globals: request.settings.globals,
            leaf_cap: request.settings.leaf_cap,
            all_frames: false,
        },
        max_stops: request.settings.max_stops.saturating_mul(stops),
        ..TraceOptions::default()
    };
    let reference = Image::open(request.reference)?;
    let image = Image::open(request.binary)?;
    let (before, after) = (launch(request.reference), launch(request.binary));
    // an unoptimised build has many more statements to stop at
    let (many, some) = (options(50), options(10));
    let held = Held::of_binary(&mut |observer, quiet| {
        let mode = Mode::Quiet(quiet);
        Ok(trace(sandbox, &reference, &before, &mode, &many, observer)?)
    })?
    .map_err(|reason| Error::unfit(format!("the reference: {reason}")))?;
    let name = request.name();
    let mut report = Report {
        program: name.clone(),
        ..Report::default()
    };
    let mut row = Row {
        compiler: name,
        level: String::new(),
        counts: crate::Counts::default(),
        frames: crate::FrameCounts::default(),
        note: None,
    };
    let seen = held.judge(&image, None, &mut |observer, quiet| {
        let mode = Mode::Quiet(quiet);
        Ok(trace(sandbox, &image, &after, &mode, &some, observer)?)
    })?;
    let quiet = match seen {
        Ok(quiet) => quiet,
        Err(reason) => {
            row.note = Some(format!(
                "{reason}; nothing is blamed on its debug information"
            ));
            report.summary.push(row);
            return Ok(report);
        }
    };
    report.stops = usize::try_from(quiet.stops).unwrap_or(usize::MAX);
    row.counts = quiet.counts;
    report.variables = quiet.variables.len();
    report.lines = (quiet.lines.len().min(held.lines()), held.lines());
    report.not_compared = quiet.not_compared;
    report.summary.push(row);
    confirm(
        sandbox,
        request,
        &image,
        &after,
        quiet.suspects,
        &mut report,
    )?;
    report.rounds.push(RoundRow {
        round: Round::Quiet,
        builds: 1,
        points: 0,
        counts: quiet.counts,
        seconds: 0.0,
        findings: report.findings.len(),
        alone: report.findings.len(),
        left_out: 0,
        note: None,
    });
    Ok(report)
}

fn confirm(
    sandbox: &Sandbox,
    request: &Request<'_>,
    image: &Image,
    launch: &Launch,
    suspects: Vec<Suspect>,
    report: &mut Report,
) -> Result<(), Error> {
    if suspects.is_empty() {
        return Ok(());
    }
    let suspects: Vec<(&Suspect, &Candidate)> = suspects
        .iter()
        .filter_map(|suspect| Some((suspect, suspect.candidates.first()?)))
        .collect();
    let queries: Vec<Query> = suspects
        .iter()
        .map(|(_, candidate)| query(candidate))
        .collect();
    let mut said: Vec<BTreeMap<String, Answer>> = vec![BTreeMap::new(); suspects.len()];
    for debugger in request.debuggers {
        let limit = request.settings.debugger_time();
        let session = debugger.ask(sandbox, image, launch, &queries, limit)?;
        for (map, answers) in said.iter_mut().zip(session.answers) {
            let answer = answers.into_iter().next().unwrap_or(Answer::NotReached);
            map.insert(debugger_name(debugger), answer);
        }
    }
    for ((suspect, candidate), said) in suspects.into_iter().zip(said) {
        let confirmed: Vec<String> = said
            .iter()
            .filter(|(_, answer)| answer.agrees(&candidate.shown) == Some(true))
            .map(|(name, _)| name.clone())
            .collect();
        let name = request.name();
        let line = candidate.spot.line;
        if confirmed.is_empty() {
            report.undecided.push(Undecided {
                variable: candidate.key.to_string(),
                line,
                compiler: name,
                level: String::new(),
                reason: "no debugger shows the same".into(),
            });
            continue;
        }
        let (expected, shown) = (candidate.truth_in_words(), candidate.shown.to_string());
        let mut confirmed_by = vec!["native".to_owned()];
        confirmed_by.extend(confirmed);
        report.findings.push(Finding {
            kind: candidate.kind,
            blame: name.clone(),
            function: candidate.key.function.as_deref().map(str::to_owned),
            variable: candidate.key.to_string(),
            declared: candidate.key.decl_line.0,
            line,
            frame: 0,
            source_line: String::new(),
            stop: 0,
            visit: candidate.spot.visit,
            visits: 0,
            compiler: name,
            version: String::new(),
            level: String::new(),
            confirmed_by,
            debuggers: said
                .iter()
                .map(|(name, answer)| (name.clone(), answer.to_string()))
                .collect(),
            location: candidate.location.clone(),
            places: Place::all(&suspect.lines),
            signature: Signature {
                kind: candidate.kind,
                family: "unknown".into(),
                variable: "unknown".into(),
                statement: "unknown".into(),
                relation: relation(&expected, &shown).into(),
                levels: Vec::new(),
                pass: None,
            },
            expected,
            shown,
            notes: Vec::new(),
            round: Round::Quiet,
            rounds: vec![Round::Quiet],
            barriers: Vec::new(),
            replay: request.replay(),
        });
    }
    Ok(())
}

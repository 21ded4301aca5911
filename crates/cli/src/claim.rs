//! Which case is meant: a finding.json, one of a report's findings, or a program and a claim about it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use candor_check::{Finding, Kind, PointChoice, Report, Request, Settings, Toolset};
use candor_predicate::{Case, Claim, Subject};
use candor_toolchain::{Compiler, Program};

use crate::program::Surroundings;

/// A claim on the command line, and the build it is about.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("claim").multiple(false))]
pub struct ClaimArgs {
    /// The program behaves differently from its reference build (see --against)
    #[arg(long, group = "claim")]
    miscompiles: bool,

    /// The compiler crashes on it
    #[arg(long, group = "claim")]
    crashes: bool,

    /// The compiler needs more than SECONDS of CPU time
    #[arg(long, group = "claim", value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    hangs: Option<u64>,

    /// `candor check` finds KIND: wrong-value, ill-formed-location, write-only-static, ...
    #[arg(long, group = "claim", value_name = "KIND")]
    check: Option<String>,

    /// The debug information no longer shows a variable: FUNCTION:NAME, or NAME of a global
    #[arg(long, group = "claim", value_name = "[FUNCTION:]NAME")]
    lost: Option<String>,

    /// A command decides (exit status 0: it is there); $CANDOR_CC and $CANDOR_FLAGS hold the build
    #[arg(long, group = "claim", value_name = "FILE")]
    command: Option<PathBuf>,

    /// With --check: the variable that is meant (default: the first one found)
    #[arg(long, value_name = "NAME", requires = "check")]
    variable: Option<String>,

    /// With a report of several findings: which one, from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    finding: usize,

    /// The compiler command (a finding brings its own)
    #[arg(long = "cc", value_name = "COMMAND")]
    compiler: Option<String>,

    /// The optimisation level, such as -O2
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2")]
    level: String,

    /// With --miscompiles: the reference build, flags with or without a compiler before them
    #[arg(
        long,
        value_name = "BUILD",
        default_value = "-O0",
        allow_hyphen_values = true
    )]
    against: String,
}

/// What was typed: a case, or a program with a claim still to be put together.
#[derive(Debug)]
pub enum Question {
    /// Nothing is left to find out.
    Known(Box<Case>),
    /// The claim needs the compiler, perhaps a check.
    Asked(Box<Program>),
}

impl ClaimArgs {
    /// Reads what `file` is: JSON holds a case or a report, anything else is a program.
    pub fn question(&self, file: &Path, around: &Surroundings) -> anyhow::Result<Question> {
        let has_claim = self.miscompiles
            || self.crashes
            || self.hangs.is_some()
            || self.check.is_some()
            || self.lost.is_some()
            || self.command.is_some();
        if has_claim {
            return Ok(Question::Asked(Box::new(around.load(file)?)));
        }
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        if !text.trim_start().starts_with('{') {
            bail!(
                "{} is not a finding; for a C program say what is wrong with it: --miscompiles, \
                 --crashes, --hangs, --check KIND, --lost FUNCTION:NAME or --command FILE",
                file.display()
            );
        }
        Ok(Question::Known(Box::new(
            match serde_json::from_str::<Report>(&text) {
                Ok(report) => self.of_report(file, &report, around)?,
                Err(_) => Case::from_json(file, &text)?,
            },
        )))
    }

    fn of_report(
        &self,
        file: &Path,
        report: &Report,
        around: &Surroundings,
    ) -> anyhow::Result<Case> {
        let index = self.finding.checked_sub(1);
        let Some(finding) = index.and_then(|index| report.findings.get(index)) else {
            bail!(
                "{} has {} findings; --finding {} is none of them",
                file.display(),
                report.findings.len(),
                self.finding
            );
        };
        let program = around.load(Path::new(&report.program))?;
        Ok(Case::from_finding(&program, finding))
    }

    /// The compiler command given.
    pub fn compiler(&self) -> Option<&str> {
        self.compiler.as_deref()
    }

    /// The compiler command to look for.
    pub fn wanted(&self, question: &Question) -> Vec<String> {
        let command = match (&self.compiler, question) {
            (Some(given), _) => Some(given.clone()),
            (None, Question::Known(case)) => Some(case.compiler.clone()),
            (None, Question::Asked(_)) => None,
        };
        Vec::from_iter(command)
    }

    /// The case of a claim given by flags.
    pub fn case(
        &self,
        tools: &Toolset<'_>,
        compiler: &Compiler,
        program: &Program,
        settings: &Settings,
    ) -> anyhow::Result<Case> {
        let claim = if let Some(kind) = &self.check {
            return self.checked(tools, compiler, program, settings, kind);
        } else if let Some(path) = &self.command {
            // a case is asked about in other directories too
            let path = std::path::absolute(path)
                .with_context(|| format!("cannot tell where {} is", path.display()))?;
            Claim::Command { path }
        } else if let Some(lost) = &self.lost {
            let (function, variable) = match lost.split_once(':') {
                Some((function, variable)) => (Some(function.to_owned()), variable),
                None => (None, lost.as_str()),
            };
            Claim::Lost {
                subject: Subject {
                    function,
                    variable: variable.to_owned(),
                    declared: 0,
                    line: 0,
                },
                against: vec!["-O0".into()],
            }
        } else if let Some(seconds) = self.hangs {
            Claim::Hang { seconds }
        } else if self.crashes {
            // the first crash decides which one is meant
            Claim::Crash {
                site: String::new(),
            }
        } else {
            let (flags, words): (Vec<&str>, Vec<&str>) = self
                .against
                .split_whitespace()
                .partition(|word| word.starts_with('-'));
            Claim::Miscompilation {
                against: flags.into_iter().map(str::to_owned).collect(),
                reference: (!words.is_empty()).then(|| words.join(" ")),
                manner: None,
            }
        };
        let flags = vec![format!("-O{}", self.level)];
        Ok(Case::new(program, compiler, flags, claim))
    }

    /// The first finding of a check that is of the kind asked for.
    fn checked(
        &self,
        tools: &Toolset<'_>,
        compiler: &Compiler,
        program: &Program,
        settings: &Settings,
        kind: &str,
    ) -> anyhow::Result<Case> {
        let kind: Kind = serde_json::from_value(kind.into()).ok().with_context(|| {
            format!(
                "`{kind}` is no kind of finding; expected wrong-value, ill-formed-location, \
                 write-only-static, wrong-referent, wrong-line, wrong-frame, debugger-disagrees or debugger-crash"
            )
        })?;
        let replay = |_: &Compiler, _: &str, _: &PointChoice| String::new();
        let request = Request {
            program,
            points: PointChoice::All,
            builds: vec![(compiler, format!("-O{}", self.level))],
            settings: Settings {
                audit: matches!(kind, Kind::DebuggerDisagrees | Kind::DebuggerCrash),
                ..settings.clone()
            },
            replay: &replay,
        };
        let report = candor_check::check(tools, &request, &|_| {})?;
        let meant = |finding: &&Finding| {
            finding.kind == kind
                && self
                    .variable
                    .as_deref()
                    .is_none_or(|name| finding.variable == name || finding.root() == name)
        };
        if let Some(finding) = report.findings.iter().find(meant) {
            return Ok(Case::from_finding(program, finding));
        }
        let mut seen: Vec<String> = Vec::new();
        for finding in &report.findings {
            seen.push(format!("{} of `{}`", finding.kind, finding.variable));
        }
        for open in &report.undecided {
            seen.push(format!("`{}` undecided ({})", open.variable, open.reason));
        }
        seen.extend(report.summary.iter().filter_map(|row| row.note.clone()));
        bail!(
            "nothing to look into: {compiler} -O{} shows no {kind}{}; seen instead: {}",
            self.level,
            self.variable
                .as_ref()
                .map_or(String::new(), |name| format!(" of `{name}`")),
            if seen.is_empty() {
                "nothing wrong".to_owned()
            } else {
                seen.join(", ")
            }
        );
    }
}

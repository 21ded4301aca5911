//! The exhibit of wrong code, of a compiler crash and of a hang: what each build does.

use std::path::Path;

use candor_toolchain::build::quote;
use candor_toolchain::{
    Build, Built, Compiler, Ending, Job, Limits, Program, Scratch, Stage as Step,
};

use super::{
    BuildState, Exhibit, History, Reproduction, Run, SCHEMA, SourceView, State, build_name, flags,
};
use crate::Error;
use crate::run::{Settings, Toolset};
use crate::workshop::{Workshop, link_flags};

/// How much of an output is kept.
const MOST_OUTPUT: usize = 8 << 10;

/// A build that behaves wrongly, or a compiler that does.
pub struct BehaviourRequest<'a> {
    /// The program, reduced.
    pub program: &'a Program,
    /// The same as it was found, if it was reduced.
    pub original: Option<&'a Program>,
    /// The compiler that is wrong.
    pub compiler: &'a Compiler,
    /// Level and flags.
    pub level: &'a str,
    /// The build that is right; `None` where the compiler itself fails.
    pub reference: Option<(&'a Compiler, String)>,
    /// The builds of the matrix.
    pub builds: Vec<(&'a Compiler, String)>,
    /// Bounds.
    pub settings: Settings,
}

/// What came of one build.
#[derive(Clone, PartialEq)]
enum Deed {
    /// It ran: how it ended, and what it printed.
    Ran(String, Vec<u8>),
    /// The compiler refused the program.
    Refused(String, String),
    /// The compiler crashed or hung.
    Failed(String, String),
}

impl Deed {
    fn words(&self) -> String {
        match self {
            Deed::Ran(ending, _) => ending.clone(),
            Deed::Refused(why, _) | Deed::Failed(why, _) => why.clone(),
        }
    }

    fn output(&self) -> String {
        let mut text = match self {
            Deed::Ran(_, output) => String::from_utf8_lossy(output).into_owned(),
            Deed::Refused(_, text) | Deed::Failed(_, text) => text.clone(),
        };
        if text.len() > MOST_OUTPUT {
            let cut = (0..=MOST_OUTPUT)
                .rev()
                .find(|at| text.is_char_boundary(*at));
            text.truncate(cut.unwrap_or(0));
            text += "\n[...]";
        }
        text
    }
}

/// Makes the exhibit.
pub fn behaviour(tools: &Toolset<'_>, request: &BehaviourRequest<'_>) -> Result<Exhibit, Error> {
    let workshop = tools.workshop;
    let program = request.program;
    let settings = &request.settings;
    let build = build_name(workshop, request.compiler, request.level)?;
    let actual = act(workshop, program, request.compiler, request.level, settings)?;
    let mut runs = Vec::new();
    let mut right = None;
    if let Some((compiler, level)) = &request.reference {
        let deed = act(workshop, program, compiler, level, settings)?;
        runs.push(run(program, compiler, level, &deed, true));
        right = Some(deed);
    }
    runs.push(run(
        program,
        request.compiler,
        request.level,
        &actual,
        false,
    ));

    let mut builds = Vec::new();
    for (compiler, level) in &request.builds {
        let deed = act(workshop, program, compiler, level, settings)?;
        let state = match (&right, &deed) {
            (Some(right), deed) if deed == right => State::Right,
            (Some(_), Deed::Ran(..)) => State::Affected,
            (None, Deed::Failed(..)) => State::Affected,
            (None, Deed::Ran(..)) => State::Right,
            _ => State::Failed,
        };
        builds.push(BuildState {
            compiler: compiler.name.clone(),
            version: compiler.version.to_string(),
            level: level.clone(),
            state,
            note: deed.words(),
        });
    }
    let mut files = vec![(program.file_name(), program.text.clone())];
    if let Ok(text) = String::from_utf8(program.stdin.clone())
        && !text.is_empty()
    {
        files.push(("stdin".into(), text));
    }
    let mut commands: Vec<String> = Vec::new();
    let makes_program = request.reference.is_some();
    for (compiler, level) in request
        .reference
        .iter()
        .map(|(compiler, level)| (*compiler, level.as_str()))
        .chain([(request.compiler, request.level)])
    {
        commands.push(command(program, compiler, level, makes_program));
        if makes_program {
            commands.push(invocation(program));
        }
    }
    Ok(Exhibit {
        schema: SCHEMA,
        subject: None,
        source: SourceView::plain(program, build.clone(), None),
        whole: request
            .original
            .map(|original| SourceView::plain(original, build.clone(), None)),
        build,
        history: History::default(),
        builds,
        locations: Vec::new(),
        code: Vec::new(),
        runs,
        reproduction: Reproduction { files, commands },
    })
}

fn run(program: &Program, compiler: &Compiler, level: &str, deed: &Deed, expected: bool) -> Run {
    Run {
        build: format!("{} {level}", compiler.name),
        command: command(program, compiler, level, true),
        ending: deed.words(),
        output: deed.output(),
        expected,
    }
}

/// The compiler call, as a person would type it.
fn command(program: &Program, compiler: &Compiler, level: &str, whole: bool) -> String {
    let extra: String = program.flags.iter().map(|flag| quote(flag) + " ").collect();
    let file = quote(&program.file_name());
    if whole {
        format!("{} -w {level} {extra}{file} -o program", compiler.name)
    } else {
        format!("{} -w {level} {extra}-c {file}", compiler.name)
    }
}

fn invocation(program: &Program) -> String {
    let arguments: String = program
        .arguments
        .iter()
        .map(|word| format!(" {}", quote(word)))
        .collect();
    let input = if program.stdin.is_empty() {
        ""
    } else {
        " < stdin"
    };
    format!("./program{arguments}{input}")
}

/// Builds the program as it is and runs it.
fn act(
    workshop: &Workshop<'_>,
    program: &Program,
    compiler: &Compiler,
    level: &str,
    settings: &Settings,
) -> Result<Deed, Error> {
    let directory = Scratch::job(workshop.scratch)?;
    directory.write(&program.file_name(), &program.text)?;
    let mut all = vec!["-w".to_owned()];
    all.extend(flags(level));
    all.extend(program.flags.iter().cloned());
    all.extend(link_flags(program));
    let build = Build {
        compiler,
        stage: Step::Executable,
        inputs: vec![program.file_name().into()],
        flags: all,
        output: "program".into(),
    };
    let built = build.run(workshop.sandbox, directory.path(), &Limits::compiler())?;
    let words = built.describe();
    Ok(match built {
        Built::Ok { artefact, .. } => {
            let finished = workshop.sandbox.run(
                &job(program, &artefact, directory.path()),
                &Limits::program().with_time(settings.time),
            )?;
            let ending = match finished.ending {
                Ending::Exited(code) => format!("exit code {code}"),
                other => other.to_string(),
            };
            Deed::Ran(ending, finished.stdout)
        }
        Built::Rejected { diagnostics } => Deed::Refused(words, diagnostics),
        Built::Crashed { diagnostics, .. } | Built::OutOfMemory { diagnostics } => {
            Deed::Failed(words, diagnostics)
        }
        Built::TimedOut { .. } | Built::Exceeded { .. } => Deed::Failed(words, String::new()),
    })
}

fn job(program: &Program, executable: &Path, directory: &Path) -> Job {
    let job = Job::new(executable, directory).args(program.arguments.iter().cloned());
    if program.stdin.is_empty() {
        job
    } else {
        job.stdin(program.stdin.clone())
    }
}

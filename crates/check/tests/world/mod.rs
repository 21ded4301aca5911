//! What every test of this crate needs, made once: sandbox, compilers, gate, debuggers.

#![allow(dead_code, clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use candor_check::{Error, Kind, PointChoice, Report, Request, Settings, Toolset, Workshop, check};
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Program, Sandbox, Scratch};
use candor_tracer::Debugger;

pub struct World {
    pub sandbox: Sandbox,
    pub scratch: Scratch,
    pub compilers: Vec<Compiler>,
    pub clang: Clang,
    pub debuggers: Vec<Debugger>,
}

pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let sandbox = Sandbox::detect();
        let scratch = Scratch::new().unwrap();
        let compilers = ["gcc-11", "gcc-12", "clang-14", "clang-16", "clang-19"]
            .iter()
            .map(|name| Compiler::probe(&sandbox, &scratch, name).unwrap())
            .collect();
        let debuggers = Debugger::discover(&sandbox);
        assert!(
            debuggers.len() >= 2,
            "gdb and lldb are needed: {debuggers:?}"
        );
        World {
            sandbox,
            scratch,
            compilers,
            clang: Clang::find().unwrap(),
            debuggers,
        }
    })
}

/// A build as the cases write it: `clang-19:-O2`.
pub type BuildName = (String, String);

pub struct Question {
    pub program: Program,
    pub points: PointChoice,
    pub builds: Vec<BuildName>,
    /// Compilers that are not among the installed ones.
    pub extra: Vec<Compiler>,
    pub settings: Settings,
}

impl Question {
    pub fn new(program: Program, builds: &[(&str, &str)]) -> Self {
        Question {
            program,
            points: PointChoice::All,
            builds: builds
                .iter()
                .map(|(compiler, level)| ((*compiler).to_owned(), (*level).to_owned()))
                .collect(),
            extra: Vec::new(),
            settings: Settings::default(),
        }
    }

    pub fn ask(&self) -> Result<Report, Error> {
        self.with_tools(|tools, request| check(tools, request, &|_| {}))
    }

    pub fn with_tools<T>(&self, action: impl FnOnce(&Toolset<'_>, &Request<'_>) -> T) -> T {
        let world = world();
        let workshop = Workshop::new(&world.sandbox, &world.scratch).unwrap();
        let gate = Gate::find(&world.compilers, &world.sandbox, &world.scratch)
            .unwrap()
            .expect("clang with sanitizers");
        let tools = Toolset {
            workshop: &workshop,
            clang: &world.clang,
            compilers: &world.compilers,
            gate,
            debuggers: &world.debuggers,
        };
        let find = |name: &str| {
            self.extra
                .iter()
                .chain(&world.compilers)
                .find(|compiler| compiler.name == name)
                .unwrap_or_else(|| panic!("no compiler {name}"))
        };
        let request = Request {
            program: &self.program,
            points: self.points.clone(),
            builds: self
                .builds
                .iter()
                .map(|(name, level)| (find(name), level.clone()))
                .collect(),
            settings: self.settings.clone(),
            replay: &|compiler, level, _| format!("candor check --cc {compiler} {level}"),
        };
        action(&tools, &request)
    }
}

/// An executable script.
pub fn script(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A compiler that tells a lie: the command `real`, and then bytes of the linked file changed, as perl writes them.
pub fn liar(directory: &Path, name: &str, real: &str, from: &str, to: &str) -> Compiler {
    let path = directory.join(name);
    script(
        &path,
        &format!(
            "{real} \"$@\" || exit 1\ncase \"$*\" in *'-o program '*)\n\
             perl -0777 -pi -e 's/{from}/{to}/g' program;; esac\n"
        ),
    );
    probe(&path.display().to_string())
}

/// The compiler behind a command.
pub fn probe(command: &str) -> Compiler {
    let world = world();
    Compiler::probe(&world.sandbox, &world.scratch, command).unwrap()
}

/// A falsified constant: who shows what instead of what. Both liars change 1592639215 into 1592639214.
pub fn assert_caught(report: &Report, liar: &str) {
    let [finding] = report.findings.as_slice() else {
        panic!("{report:#?}");
    };
    assert_eq!(finding.kind, Kind::WrongValue);
    assert_eq!(finding.compiler, liar);
    assert_eq!(
        (finding.expected.as_str(), finding.shown.as_str()),
        ("1592639215", "1592639214")
    );
    assert_eq!(finding.confirmed_by, ["native", "print", "gdb", "lldb"]);
}

/// The repository's folder of whole-program cases.
pub fn cases() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/check")
}

//! What the tests of isolation share: the tools of this machine, cases on programs below `tests/`.

#![allow(dead_code, missing_docs)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use candor_check::{Kind, Toolset, Workshop};
use candor_isolate::{Error, Isolation, Settings, isolate};
use candor_predicate::{Case, Claim, Subject};
use candor_source::Clang;
use candor_toolchain::{Compiler, Gate, Program, Sandbox, Scratch, discover};

pub struct Bench {
    sandbox: Sandbox,
    scratch: Scratch,
    clang: Clang,
    found: Vec<Compiler>,
}

impl Bench {
    pub fn new() -> Self {
        let sandbox = Sandbox::detect();
        let scratch = Scratch::new().unwrap();
        let (found, _) = discover(&sandbox, &scratch).unwrap();
        Bench {
            clang: Clang::find().unwrap(),
            sandbox,
            scratch,
            found,
        }
    }

    pub fn compiler(&self, command: &str) -> Compiler {
        Compiler::probe(&self.sandbox, &self.scratch, command).unwrap()
    }

    pub fn case(&self, program: &str, command: &str, level: &str, claim: Claim) -> Case {
        let program = Program::load(&path(program)).unwrap();
        let compiler = self.compiler(command);
        Case::new(&program, &compiler, vec![level.to_owned()], claim)
    }

    pub fn isolate(
        &self,
        case: &Case,
        command: &str,
        settings: &Settings,
    ) -> Result<Isolation, Error> {
        let workshop = Workshop::new(&self.sandbox, &self.scratch).unwrap();
        let gate = Gate::find(&self.found, &self.sandbox, &self.scratch)
            .unwrap()
            .unwrap();
        let tools = Toolset {
            workshop: &workshop,
            clang: &self.clang,
            compilers: &self.found,
            gate,
            debuggers: &[],
        };
        isolate(&tools, case, &self.compiler(command), settings, &|_| {})
    }
}

fn path(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(program)
}

/// Without what the test does not look at.
pub fn quick() -> Settings {
    let mut settings = Settings {
        releases: false,
        change: false,
        ..Settings::default()
    };
    settings.options.sanitize = false;
    settings
}

pub fn debug_claim(kind: Kind, function: &str, variable: &str) -> Claim {
    Claim::Debug {
        kind,
        subject: Subject {
            function: Some(function.into()),
            variable: variable.into(),
            declared: 0,
            line: 0,
        },
        round: candor_check::Round::All,
    }
}

/// Writes an executable script; returns its path as a command.
pub fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

//! The one workbench all tests share.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use candor_mutate::{Error, Profile, Settings, Workbench, profile};
use candor_source::Clang;
use candor_toolchain::{Compiler, Program, Sandbox, Scratch};

pub struct Shared {
    pub sandbox: Sandbox,
    pub scratch: Scratch,
    pub compilers: Vec<Compiler>,
    clang: Clang,
}

pub fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let sandbox = Sandbox::detect();
        let scratch = Scratch::new().unwrap();
        let probe = |name: &str| Compiler::probe(&sandbox, &scratch, name).unwrap();
        let compilers = ["gcc-12", "clang-19", "tcc"].map(probe).into();
        Shared {
            clang: Clang::find().unwrap(),
            compilers,
            scratch,
            sandbox,
        }
    })
}

pub fn bench() -> &'static Workbench<'static> {
    static BENCH: OnceLock<Workbench<'static>> = OnceLock::new();
    BENCH.get_or_init(|| {
        let shared = shared();
        Workbench::new(
            &shared.sandbox,
            &shared.scratch,
            &shared.clang,
            &shared.compilers,
        )
        .unwrap()
    })
}

pub fn program(text: &str) -> Program {
    Program::from_text(Path::new("/nowhere/t.c"), text.to_owned())
}

pub fn settings(seed: u64) -> Settings {
    Settings {
        seed,
        time: Duration::from_secs(20),
        ..Settings::default()
    }
}

pub fn profiled(text: &str) -> Result<Profile, Error> {
    profile(bench(), &program(text), &settings(1))
}

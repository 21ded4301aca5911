//! Compiling a program once, and remembering what identical code came to.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use candor_toolchain::{
    Build, Built, Compiler, Family, JobDirectory, Limits, Program, Sandbox, Scratch, Stage,
};

use crate::{Error, Verdict};

/// The limits of one compiler call.
pub fn limits(compile: Duration) -> Limits {
    Limits {
        cpu: compile,
        wall: compile * 4,
        ..Limits::compiler()
    }
}

/// Compiles `program` to an object file.
pub fn compile(
    sandbox: &Sandbox,
    scratch: &Scratch,
    compiler: &Compiler,
    program: &Program,
    flags: &[String],
    limits: &Limits,
) -> Result<(Built, JobDirectory), Error> {
    let directory = scratch.job()?;
    let name = program.file_name();
    directory.write(&name, &program.text)?;
    let mut all = vec!["-w".to_owned()];
    all.extend(flags.iter().cloned());
    all.extend(quiet_producer(compiler).map(str::to_owned));
    // libraries are for the linker; tcc refuses them here
    let compiled = program.flags.iter().filter(|flag| !flag.starts_with("-l"));
    all.extend(compiled.cloned());
    let build = Build {
        compiler,
        stage: Stage::Object,
        inputs: vec![name.into()],
        flags: all,
        output: "program.o".into(),
    };
    let built = build.run(sandbox, directory.path(), limits)?;
    Ok((built, directory))
}

/// gcc writes its flags into the debug information, which would make identical code differ.
pub fn quiet_producer(compiler: &Compiler) -> Option<&'static str> {
    (compiler.family == Family::Gcc).then_some("-gno-record-gcc-switches")
}

/// Verdicts by what an object file holds. The whole content is the key: no collision can blame
/// anyone.
#[derive(Debug, Default)]
pub struct Known {
    verdicts: Mutex<HashMap<Vec<u8>, Verdict>>,
}

impl Known {
    /// The verdict on these bytes, made by `judge` if they are new.
    pub fn or_judge(
        &self,
        object: Vec<u8>,
        judge: impl FnOnce() -> Result<Verdict, Error>,
    ) -> Result<Verdict, Error> {
        if let Some(known) = self.lock().get(&object) {
            return Ok(known.clone());
        }
        let verdict = judge()?;
        self.lock().insert(object, verdict.clone());
        Ok(verdict)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, Verdict>> {
        // Entries are whole or absent: a poisoned map is still a map.
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_code_is_judged_once() {
        let known = Known::default();
        let mut judged = 0;
        for object in [b"a", b"b", b"a"] {
            let verdict = known
                .or_judge(object.to_vec(), || {
                    judged += 1;
                    Ok(Verdict::Fails(format!("{}", object[0])))
                })
                .unwrap();
            assert_eq!(verdict.words(), object[0].to_string());
        }
        assert_eq!(judged, 2);
    }
}

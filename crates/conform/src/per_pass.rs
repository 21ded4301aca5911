//! Every pass of a pipeline, each against its own input.

use std::path::Path;

use candor_llvm::Run;
use candor_toolchain::{Ending, Job, Limits, Sandbox, Scratch};

use crate::Error;
use crate::input::Test;
use crate::pipeline::{each, is_composite, parse};
use crate::session::Session;

/// The passes behind names like `default<O2>`, as the `opt` of the same version prints them; a pipeline
/// without such names is itself.
pub fn expand(
    pipeline: &str,
    version: u32,
    sandbox: &Sandbox,
    scratch: &Scratch,
) -> Result<Vec<String>, Error> {
    if !parse(pipeline)?
        .iter()
        .any(|element| is_composite(&element.name))
    {
        return each(pipeline);
    }
    let directory = scratch.job()?;
    let job = Job::new(format!("opt-{version}"), directory.path())
        .arg(format!("-passes={pipeline}"))
        .args(["-print-pipeline-passes", "-disable-output", "-"]);
    let finished = sandbox
        .run(&job, &Limits::compiler())
        .map_err(|error| Error::Expand {
            pipeline: pipeline.to_owned(),
            reason: format!("{error}; or name the passes instead, as in --pipeline 'sroa,gvn'"),
        })?;
    match finished.ending {
        Ending::Exited(0) => each(String::from_utf8_lossy(&finished.stdout).trim()),
        ending => Err(Error::Expand {
            pipeline: pipeline.to_owned(),
            reason: match String::from_utf8_lossy(&finished.stderr).trim() {
                "" => format!("opt-{version}: {ending:?}"),
                said => said.to_owned(),
            },
        }),
    }
}

/// One test per pass: its input is what the passes before it made of the file. A pass that fails ends
/// the sequence; the reason is given with what there is.
pub fn tests(
    session: &Session,
    file: &Path,
    input: Vec<u8>,
    pipeline: &[String],
) -> Result<(Vec<Test>, Option<String>), Error> {
    let mut tests = Vec::new();
    let mut run = Run {
        name: file.display().to_string(),
        input,
        ..Run::default()
    };
    for pass in pipeline {
        run.pipeline.clone_from(pass);
        tests.push(Test {
            file: file.to_owned(),
            run_line: None,
            run: run.clone(),
        });
        match session.transform(&run)? {
            Ok((_, after)) => run.input = after.into_bytes(),
            Err(outcome) => return Ok((tests, Some(format!("at {pass}: {outcome}")))),
        }
    }
    Ok((tests, None))
}

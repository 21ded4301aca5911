//! Carrying from stop to stop gives what looking at everything at every stop gives: the same recording, the same
//! objections, the same counts and suspects, on Csmith programs and real builds.

use std::path::Path;

use std::sync::Arc;

use candor_dwarf::{Chain, Image};
use candor_source::Clang;
use candor_toolchain::{Compiler, Job, Limits, Program, Sandbox, Scratch};
use candor_tracer::{Continue, Mode, Observer, RunSummary, Stop, trace};

use crate::compare::Comparison;
use crate::plan::{Plan, PointChoice};
use crate::recording::{Recorder, Recording};
use crate::truth::{Filter, Opponent, Truth, launch, options, references};
use crate::workshop::{Executable, Workshop};
use crate::{Settings, finding::Counts};

/// Hides from an observer what did not change.
struct Forgetful<'o>(&'o mut dyn Observer);

impl Observer for Forgetful<'_> {
    fn stop(&mut self, stop: &Stop<'_>) -> Continue {
        self.0.stop(&Stop {
            changed: None,
            ..*stop
        })
    }

    fn climbs(&mut self, sequence: u64, chain: (u32, &Arc<Chain>)) -> u16 {
        self.0.climbs(sequence, chain)
    }
}

/// Shadowed and unshadowed globals, a static that is only written, pointers, stops that move between functions.
const SHADOWS: &str = r#"
int counter = 1, total;
static int log_[40];
static int *at = log_;
static int *none;
static int step(int total) {
  int counter = total + 2;
  log_[total & 31] = counter;
  at = &log_[counter & 31];
  return counter;
}
int main(void) {
  for (int i = 0; i < 30; i++) {
    total += step(i);
    if (i % 3 == 0) { int at = i; counter += at; log_[32 + i % 8] = at; }
    none = &total;
  }
  counter += *at;
  return counter & 1;
}
"#;

struct Bench<'w> {
    workshop: Workshop<'w>,
    program: Program,
    plan: Plan,
    settings: Settings,
}

impl Bench<'_> {
    fn run(
        &self,
        executable: &Executable,
        image: &Image,
        observer: &mut dyn Observer,
    ) -> RunSummary {
        trace(
            self.workshop.sandbox,
            image,
            &launch(executable, &self.program, &self.settings),
            &Mode::barrier(),
            &options(&self.settings),
            observer,
        )
        .unwrap()
    }

    fn build(&self, compiler: &Compiler, flags: &[String]) -> (Executable, Image) {
        let built = self
            .workshop
            .build(compiler, &self.program, &self.plan.text, flags);
        let executable = built.unwrap().unwrap();
        let image = Image::open(&executable.path).unwrap();
        (executable, image)
    }

    fn record(&self, build: &(Executable, Image), forget: bool) -> Truth {
        let filter = Filter {
            plan: &self.plan,
            image: &build.1,
        };
        let mut recorder = Recorder::new(&filter);
        let summary = match forget {
            true => self.run(&build.0, &build.1, &mut Forgetful(&mut recorder)),
            false => self.run(&build.0, &build.1, &mut recorder),
        };
        Truth::of(recorder.finish(), summary)
    }
}

/// Everything a recording holds, in an order of its own.
fn in_words(recording: &Recording) -> Vec<String> {
    let mut replay = recording.replay();
    let mut words = Vec::new();
    for stop in 0..recording.len() as u64 {
        assert!(replay.advance(stop));
        let mut changed: Vec<_> = replay.changed().collect();
        changed.sort_unstable();
        let site = recording
            .site(stop)
            .map(|(site, visit)| (site.line, &site.function, visit));
        let values: Vec<_> = changed.iter().map(|key| replay.seen(*key)).collect();
        words.push(format!("{site:?} {changed:?} {values:?}"));
    }
    words
}

fn in_agreement(
    clang: &Clang,
    sandbox: &Sandbox,
    scratch: &Scratch,
    program: Program,
    share: f64,
) -> (u64, Counts, usize) {
    let compilers: Vec<Compiler> = ["gcc-12", "clang-19"]
        .iter()
        .map(|name| Compiler::probe(sandbox, scratch, name).unwrap())
        .collect();
    let choice = PointChoice::Share {
        fraction: share,
        seed: 5,
    };
    let bench = Bench {
        workshop: Workshop::new(sandbox, scratch).unwrap(),
        plan: Plan::new(clang, &program, &choice).unwrap(),
        program,
        settings: Settings {
            max_stops: 600,
            ..Settings::default()
        },
    };
    let references = references(&bench.workshop, &compilers).unwrap();
    let first = bench.build(references[0].compiler, &references[0].flags);
    let mut truth = bench.record(&first, false);
    let anew = bench.record(&first, true);
    assert_eq!(in_words(&truth.recording), in_words(&anew.recording));
    for reference in &references[1..] {
        let (executable, image) = bench.build(reference.compiler, &reference.flags);
        let mut carried = Opponent::new(&truth);
        bench.run(&executable, &image, &mut carried);
        let mut anew = Opponent::new(&truth);
        bench.run(&executable, &image, &mut Forgetful(&mut anew));
        assert_eq!(carried.objections, anew.objections);
        assert_eq!(carried.misplaced, anew.misplaced);
        truth
            .hear(
                &bench.workshop,
                &bench.program,
                &executable,
                &bench.settings,
                reference,
            )
            .unwrap();
    }
    let (mut all, mut suspects) = (Counts::default(), 0);
    for compiler in &compilers {
        for level in ["-Og", "-O2"] {
            let (executable, image) = bench.build(compiler, &[level.to_owned()]);
            let mut carried = Comparison::new(&truth, &bench.plan, &image);
            bench.run(&executable, &image, &mut carried);
            let mut anew = Comparison::new(&truth, &bench.plan, &image);
            bench.run(&executable, &image, &mut Forgetful(&mut anew));
            assert_eq!(carried.counts, anew.counts, "{compiler} {level}");
            assert_eq!(
                format!("{:?}", carried.suspects),
                format!("{:?}", anew.suspects),
                "{compiler} {level}"
            );
            all.add_all(&carried.counts);
            suspects += carried.suspects.len();
        }
    }
    (truth.recording.len() as u64, all, suspects)
}

#[test]
fn carried_from_stop_to_stop_is_looked_at_anew() {
    let (sandbox, scratch, clang) = (
        Sandbox::detect(),
        Scratch::new().unwrap(),
        Clang::find().unwrap(),
    );
    let program = Program::from_text(Path::new("shadows.c"), SHADOWS.into());
    let (stops, counts, _) = in_agreement(&clang, &sandbox, &scratch, program, 1.0);
    assert!(stops > 100 && counts.equal > 1000, "{stops} {counts:?}");
    let (mut stops, mut all, mut suspects) = (0, Counts::default(), 0);
    // programs of a kind that has wrong and ill-formed values in globals and locals
    for seed in [3, 11] {
        let directory = scratch.job().unwrap();
        let seed = u64::to_string(&seed);
        let job = Job::new("csmith", directory.path()).args([
            "--seed",
            &seed,
            "--no-packed-struct",
            "--max-funcs",
            "5",
        ]);
        let text = sandbox
            .run(&job, &Limits::compiler())
            .unwrap()
            .stdout_text();
        let program = Program::from_text(Path::new("csmith.c"), text);
        let found = in_agreement(&clang, &sandbox, &scratch, program, 0.3);
        println!("csmith --seed {seed}: {found:?}");
        stops += found.0;
        all.add_all(&found.1);
        suspects += found.2;
    }
    assert!(
        stops > 200 && all.equal > 100_000 && suspects > 0,
        "{stops} {all:?} {suspects}"
    );
}

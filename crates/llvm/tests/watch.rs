#![allow(clippy::unwrap_used)]
//! The stock libraries of this machine, watched: events, self-check, identical output, containment.

use std::time::Duration;

use candor_llvm::{Deed, Ending, Engine, Library, Limits, Loading, Pool, Refusal, Run};

/// Debian's versions that candor supports.
const VERSIONS: [u32; 4] = [14, 15, 16, 19];

/// Tail recursion with an accumulator: paper 002's motivating case.
const RECURSION: &str = "
define i32 @f(i32 %a) {
entry:
  %c = icmp eq i32 %a, 2
  br i1 %c, label %then, label %return
then:
  %sub = sub i32 %a, 1
  %odd = and i32 %a, 1
  %t = icmp ne i32 %odd, 0
  br i1 %t, label %if, label %else
if:
  %x = call i32 @f(i32 %sub)
  %add = add i32 %x, 1
  br label %return
else:
  %y = call i32 @f(i32 %sub)
  %mul = mul i32 %y, 2
  br label %return
return:
  %r = phi i32 [ %add, %if ], [ %mul, %else ], [ 0, %entry ]
  ret i32 %r
}
";

fn start(version: u32, work: candor_llvm::Work) -> Pool {
    let library = Library::find(version).unwrap();
    let limits = Limits {
        time: Duration::from_secs(2),
        memory: 256 << 20,
    };
    Pool::start(&library, 1, limits, Loading::Watched, work).unwrap()
}

fn answer(ending: Ending) -> String {
    match ending {
        Ending::Answered { answer } => String::from_utf8(answer).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn recursion(engine: &Engine, _: &[u8]) -> Vec<u8> {
    let run = Run {
        name: "recursion.ll".into(),
        input: RECURSION.into(),
        pipeline: "tailcallelim".into(),
        ..Run::default()
    };
    let text = engine.trace(&run, |trace, print| {
        assert_eq!((trace.check.unknown, trace.check.unseen_moves), (0, 0));
        let mut lines = Vec::new();
        for event in &trace.recording.events {
            if event.deed != Deed::Clone {
                continue;
            }
            let all = trace
                .after
                .iter()
                .flat_map(|f| &f.blocks)
                .flat_map(|b| &b.insts);
            for one in all.filter(|one| one.id == Some(event.on)) {
                assert!(
                    event
                        .stack
                        .is_some_and(|id| trace.recording.stack(id).len() > 5)
                );
                lines.push(format!("{} @ {}", print(one.address), one.location));
            }
        }
        lines.join("\n")
    });
    text.unwrap_or_else(|refusal| refusal.to_string())
        .into_bytes()
}

/// Figure 2 of paper 002: up to 18 the copy of the accumulation keeps its location, 19 drops it.
#[test]
fn the_accumulator_s_clone_is_seen_on_every_version() {
    for version in VERSIONS {
        let pool = start(version, recursion);
        let text = answer(pool.run(0, b"", &|| false).unwrap());
        assert!(text.contains("accumulator.ret.tr"), "{version}: {text}");
        let copy = |line: &&str| line.contains("accumulator.ret.tr = add");
        let copy = text.lines().find(copy).unwrap();
        assert_eq!(copy.contains("@ line"), version < 19, "{version}: {text}");
    }
}

fn hostile(engine: &Engine, request: &[u8]) -> Vec<u8> {
    let mut run = Run {
        name: "hostile.ll".into(),
        input: RECURSION.into(),
        pipeline: "tailcallelim".into(),
        ..Run::default()
    };
    match request {
        b"loop" => loop {
            std::hint::black_box(0);
        },
        b"abort" => std::process::abort(),
        b"memory" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                all.push(vec![1; 16 << 20]);
                std::hint::black_box(&all);
            }
        }
        b"option" => run.options = vec!["-no-such-option".into()],
        b"input" => run.input = b"define i32 @f( {".to_vec(),
        b"pipeline" => run.pipeline = "tailcalelim".into(),
        _ => {}
    }
    let refusal = engine.trace(&run, |_, _| ()).err();
    serde_json::to_vec(&refusal).unwrap()
}

/// Whatever a run does, the next one works.
#[test]
fn hostile_runs_are_contained() {
    let pool = start(16, hostile);
    let mut seen = Vec::new();
    for request in [
        "", "loop", "abort", "memory", "option", "input", "pipeline", "",
    ] {
        seen.push(pool.run(0, request.as_bytes(), &|| false).unwrap());
    }
    let refusal = |ending: &Ending| -> Option<Refusal> {
        match ending {
            Ending::Answered { answer } => serde_json::from_slice(answer).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refusal(&seen[0]), None);
    assert_eq!(seen[1], Ending::TimedOut { seconds: 2 });
    assert!(matches!(&seen[2], Ending::Crashed { signal, .. } if signal == "SIGABRT"));
    assert_eq!(seen[3], Ending::OutOfMemory { bytes: 256 << 20 });
    assert!(
        matches!(&seen[4], Ending::Exited { status: 1, output } if output.contains("no-such-option")),
        "{:?}",
        seen[4]
    );
    assert!(
        matches!(refusal(&seen[5]), Some(Refusal::BadInput(m)) if m.contains("hostile.ll:1:17")),
        "{:?}",
        refusal(&seen[5])
    );
    assert!(
        matches!(refusal(&seen[6]), Some(Refusal::BadPipeline(m)) if m.contains("tailcalelim")),
    );
    assert_eq!(refusal(&seen[7]), None);
}

fn writing(_: &Engine, request: &[u8]) -> Vec<u8> {
    let written = std::fs::write(String::from_utf8_lossy(request).as_ref(), "notes");
    format!("{}", written.is_ok()).into_bytes()
}

/// As `insert-gcov-profiling` would, into the directory it runs in or wherever the IR says.
#[test]
fn passes_write_no_files() {
    let pool = start(16, writing);
    let directory = tempfile::tempdir().unwrap();
    for path in [
        std::path::PathBuf::from("candor-notes.gcno"),
        directory.path().join("candor-notes.gcno"),
    ] {
        let name = path.to_str().unwrap();
        let written = answer(pool.run(0, name.as_bytes(), &|| false).unwrap());
        assert_eq!(written, "false", "{name}");
        assert!(!path.exists(), "{name}");
    }
}

fn both(engine: &Engine, request: &[u8]) -> Vec<u8> {
    let run = Run {
        name: "both.ll".into(),
        input: RECURSION.into(),
        pipeline: "default<O2>".into(),
        ..Run::default()
    };
    let result = match request {
        b"watched" => engine.transform_watched(&run),
        _ => engine.transform(&run),
    };
    result
        .map_or_else(|refusal| refusal.to_string(), |(_, after)| after)
        .into_bytes()
}

#[test]
fn watching_does_not_change_the_output() {
    for version in VERSIONS {
        let library = Library::find(version).unwrap();
        let plain = Pool::start(&library, 1, Limits::default(), Loading::Plain, both).unwrap();
        let plain = answer(plain.run(0, b"", &|| false).unwrap());
        assert!(plain.contains("define"), "{plain}");
        for loading in [Loading::Watched, Loading::Resident] {
            let watched = Pool::start(&library, 1, Limits::default(), loading, both).unwrap();
            let watched = answer(watched.run(0, b"watched", &|| false).unwrap());
            assert_eq!(plain, watched, "{version} {loading:?}");
        }
    }
}

/// The Rust toolchain's own libLLVM exports its symbols but is built with link-time optimisation.
#[test]
fn a_library_with_link_time_optimisation_is_recognised() {
    let sysroot = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let lib = std::path::Path::new(String::from_utf8(sysroot.stdout).unwrap().trim()).join("lib");
    let path = std::fs::read_dir(&lib)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("libLLVM.so")
        })
        .unwrap_or_else(|| panic!("no libLLVM in {}", lib.display()));
    match Library::open(&path) {
        Err(error) => assert!(error.to_string().contains("cannot be watched"), "{error}"),
        Ok(library) => {
            let pool =
                Pool::start(&library, 1, Limits::default(), Loading::Watched, unknown).unwrap();
            let text = answer(pool.run(0, b"", &|| false).unwrap());
            let unknown: usize = text.split(' ').next().unwrap().parse().unwrap();
            assert!(unknown > 0, "unknown and new instructions: {text}");
        }
    }
}

fn unknown(engine: &Engine, _: &[u8]) -> Vec<u8> {
    let run = Run {
        name: "unknown.ll".into(),
        input: RECURSION.into(),
        pipeline: "tailcallelim,loop-rotate,simplifycfg".into(),
        ..Run::default()
    };
    let count = engine.trace(&run, |trace, _| (trace.check.unknown, trace.check.new));
    count
        .map_or_else(|refusal| refusal.to_string(), |(n, m)| format!("{n} {m}"))
        .into_bytes()
}

//! candor's reducer against C-Vise and C-Reduce on the same findings, same machine, same run.
//!
//!     cargo run --release -p candor-reduce --example bench_reduce -- OUT CAP PEERS CASE.json...
//!
//! CASE.json is a `finding.json` of `candor check --save`. PEERS is `none`, `cvise`, `creduce` or
//! `cvise,creduce`; they get what a user would write for them (see `script`). CAP bounds each
//! peer's run, in seconds (`600`) or in times of what ours took (`4x`); a run that is cut off is marked
//! with `>`. Every reducer gets the same number of jobs.
//! Results go to OUT. With BENCH_TRACE set, the time of each pass is printed and candidates are kept.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use candor_check::{Toolset, Workshop};
use candor_predicate::{Case, Claim};
use candor_reduce::{Settings, Size, reduce};
use candor_source::Clang;
use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Compiler, Confinement, Gate, Job, Limits, Sandbox, Scratch, discover};
use candor_tracer::Debugger;

mod script;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench_reduce: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a reducer came to.
#[derive(Clone, Copy)]
struct Run {
    size: Size,
    wall: Duration,
    cpu: f64,
    /// The cap struck.
    cut: bool,
}

/// One line of the table. A peer that failed has no run.
struct Row {
    name: String,
    before: Size,
    ours: Run,
    tried: usize,
    peers: Vec<(String, Option<Run>)>,
}

/// How long a peer may take.
#[derive(Clone, Copy)]
enum Cap {
    Seconds(Duration),
    /// Times of what our run took.
    Times(f64),
}

impl std::str::FromStr for Cap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, times) = match text.strip_suffix('x') {
            Some(number) => (number, true),
            None => (text, false),
        };
        let number: f64 = number
            .parse()
            .map_err(|_| format!("{text} is neither seconds nor times such as 4x"))?;
        Ok(if times {
            Cap::Times(number)
        } else {
            Cap::Seconds(Duration::from_secs_f64(number))
        })
    }
}

/// CPU seconds of this process and of all its children that have ended.
fn cpu() -> Anyhow<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    // utime, stime, cutime, cstime are fields 14 to 17; the name in parentheses is the second
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / 100.0)
}

fn run() -> Anyhow<()> {
    let mut words = std::env::args().skip(1);
    let out = PathBuf::from(words.next().ok_or("which directory for results?")?);
    let cap: Cap = words.next().ok_or("how long for a peer?")?.parse()?;
    let peers: Vec<String> = words
        .next()
        .ok_or("which peers?")?
        .split(',')
        .filter(|name| *name != "none")
        .map(str::to_owned)
        .collect();
    let cases: Vec<PathBuf> = words.map(PathBuf::from).collect();
    std::fs::create_dir_all(&out)?;

    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let (compilers, _) = discover(&sandbox, &scratch)?;
    let gate = Gate::find(&compilers, &sandbox, &scratch)?.ok_or("no sanitizers")?;
    let workshop = Workshop::new(&sandbox, &scratch)?;
    let clang = Clang::find()?;
    let mut debuggers: Vec<Debugger> = Vec::new();
    for debugger in Debugger::discover(&sandbox) {
        debuggers.retain(|known| known.kind != debugger.kind);
        debuggers.push(debugger);
    }
    let tools = Toolset {
        workshop: &workshop,
        clang: &clang,
        compilers: &compilers,
        gate,
        debuggers: &debuggers,
    };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    for path in cases {
        match one(&tools, &path, &out, &peers, cap, jobs) {
            Ok(row) => {
                print_row(&row);
                rows.push(row);
            }
            Err(error) => println!("{}: {error}", path.display()),
        }
    }
    summary(&rows);
    Ok(())
}

fn one(
    tools: &Toolset<'_>,
    path: &Path,
    out: &Path,
    peers: &[String],
    cap: Cap,
    jobs: usize,
) -> Anyhow<Row> {
    let case = Case::load(path)?;
    let workshop = tools.workshop;
    let own;
    let compiler = match tools.compilers.iter().find(|c| c.name == case.compiler) {
        Some(known) => known,
        None => {
            own = Compiler::probe(workshop.sandbox, workshop.scratch, &case.compiler)?;
            &own
        }
    };
    // DIR/001-wrong-value-…/finding.json: DIR tells which program it was
    let name: Vec<String> = path
        .components()
        .rev()
        .skip(1)
        .take(2)
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let name = name.into_iter().rev().collect::<Vec<_>>().join("-");
    let folder = out.join(&name);
    std::fs::create_dir_all(&folder)?;
    let trace = std::env::var_os("BENCH_TRACE").is_some();
    let settings = Settings {
        jobs,
        name: "reduced.c".into(),
        keep_tried: trace.then(|| folder.join("tried")),
        ..Settings::default()
    };
    let last = std::sync::Mutex::new(("", Instant::now(), 0));
    let cpu_before = cpu()?;
    let reduction = reduce(tools, &case, compiler, &settings, &|progress| {
        let Ok(mut last) = last.lock() else { return };
        if trace && progress.pass != last.0 {
            eprintln!(
                "{:>7.1} s  {:>5} tokens  {:>5} tried  {} took {:.1} s for {}",
                progress.elapsed.as_secs_f64(),
                progress.size.tokens,
                progress.tried,
                last.0,
                last.1.elapsed().as_secs_f64(),
                progress.tried - last.2
            );
            *last = (progress.pass, Instant::now(), progress.tried);
        }
    })?;
    let cpu = cpu()? - cpu_before;
    std::fs::write(folder.join("ours.c"), &reduction.case.program.text)?;
    reduction.case.save(&folder.join("finding.reduced.json"))?;
    for note in &reduction.notes {
        println!("{name}: note: {note}");
    }
    if let Some(verified) = &reduction.verified {
        println!("{name}: {}", verified.seen);
    }
    println!(
        "{name}: {} tried ({} invalid, {} fail, {} undecided), {} known",
        reduction.tally.tried,
        reduction.tally.invalid,
        reduction.tally.fails,
        reduction.tally.undecided,
        reduction.tally.known
    );
    let mut row = Row {
        name,
        before: reduction.before,
        ours: Run {
            size: reduction.after,
            wall: reduction.elapsed,
            cpu,
            cut: false,
        },
        tried: reduction.tally.tried,
        peers: Vec::new(),
    };
    let limit = match cap {
        Cap::Seconds(limit) => limit,
        Cap::Times(times) => row.ours.wall.mul_f64(times),
    };
    for peer in peers {
        let result = peer_run(tools, &case, peer, (path, &folder), limit, jobs)?;
        row.peers.push((peer.clone(), result));
    }
    Ok(row)
}

/// Runs a peer on the original with the script a user would write.
fn peer_run(
    tools: &Toolset<'_>,
    case: &Case,
    peer: &str,
    (path, folder): (&Path, &Path),
    limit: Duration,
    jobs: usize,
) -> Anyhow<Option<Run>> {
    let command = find_on_path(peer).ok_or(format!("{peer} is not installed"))?;
    let directory = folder.join(peer);
    std::fs::create_dir_all(&directory)?;
    let directory = directory.canonicalize()?;
    script::write(case, tools.gate.compiler(), &directory)?;
    if let Claim::Debug { .. } = case.claim {
        // the program with its barriers lies beside the finding
        let barriers = path.with_file_name(&case.program.name);
        std::fs::copy(barriers, directory.join("prog.c"))?;
    } else {
        std::fs::write(directory.join("prog.c"), &case.program.text)?;
    }
    let start = Instant::now();
    let job = Job::new(command, &directory)
        .args(["--n", &jobs.to_string()])
        .args(["--timeout", "60"])
        .args(["./interesting.sh", "prog.c"])
        .confinement(Confinement::Open);
    let limits = Limits {
        wall: limit,
        cpu: limit * 8,
        memory: None,
        processes: 4096,
        ..Limits::compiler()
    };
    let run = tools.workshop.sandbox.run(&job, &limits)?;
    let took = start.elapsed();
    let text = std::fs::read_to_string(directory.join("prog.c"))?;
    if !run.ending.success() && !run.ending.timed_out() {
        println!(
            "{peer}: {}: {}",
            run.ending,
            last_line(&run.stdout_text(), &run.stderr_text())
        );
        return Ok(None);
    }
    Ok(Some(Run {
        size: Size::of(&text),
        wall: took,
        cpu: run.cpu.as_secs_f64(),
        cut: run.ending.timed_out(),
    }))
}

fn last_line(stdout: &str, stderr: &str) -> String {
    let text = stdout.lines().chain(stderr.lines()).last();
    text.unwrap_or("it said nothing").to_owned()
}

fn print_row(row: &Row) {
    let mut line = format!(
        "| {} | {} | {} ({} lines) | {:.0} | {:.0} | {} |",
        row.name,
        row.before.tokens,
        row.ours.size.tokens,
        row.ours.size.lines,
        row.ours.wall.as_secs_f64(),
        row.ours.cpu,
        row.tried
    );
    for (_, peer) in &row.peers {
        line += &match peer {
            Some(run) => format!(
                " {} | {}{:.0} | {:.0} | {:.1}x |",
                run.size.tokens,
                if run.cut { ">" } else { "" },
                run.wall.as_secs_f64(),
                run.cpu,
                run.wall.as_secs_f64() / row.ours.wall.as_secs_f64()
            ),
            None => " failed | - | - | - |".into(),
        };
    }
    println!("{line}");
}

fn summary(rows: &[Row]) {
    let tokens: usize = rows.iter().map(|row| row.ours.size.tokens).sum();
    let time: f64 = rows.iter().map(|row| row.ours.wall.as_secs_f64()).sum();
    println!(
        "{} findings: {tokens} tokens in all, {time:.0} s",
        rows.len()
    );
    let at_most_30 = rows.iter().filter(|row| row.ours.size.lines <= 30).count();
    println!("{at_most_30} of {} have at most 30 lines", rows.len());
    let names: Vec<String> = rows
        .first()
        .map(|row| row.peers.iter().map(|(name, _)| name.clone()).collect())
        .unwrap_or_default();
    for (index, name) in names.iter().enumerate() {
        let both: Vec<(&Row, Run)> = rows
            .iter()
            .filter_map(|row| Some((row, row.peers.get(index)?.1?)))
            .collect();
        let sum = |of: &dyn Fn(&(&Row, Run)) -> f64| both.iter().map(of).sum::<f64>();
        let (ours, theirs) = (
            sum(&|(row, _)| row.ours.wall.as_secs_f64()),
            sum(&|(_, peer)| peer.wall.as_secs_f64()),
        );
        let no_larger = both
            .iter()
            .filter(|(row, peer)| row.ours.size.tokens <= peer.size.tokens)
            .count();
        let cut = both.iter().filter(|(_, peer)| peer.cut).count();
        println!(
            "{name}: {} findings compared ({cut} cut off), {theirs:.0} s against our {ours:.0} s ({:.1}x); \
             CPU {:.0} s against {:.0} s; ours no larger in {no_larger}",
            both.len(),
            theirs / ours.max(0.001),
            sum(&|(_, peer)| peer.cpu),
            sum(&|(row, _)| row.ours.cpu),
        );
    }
}

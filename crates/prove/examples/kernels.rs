//! Proves every function of a source in an object and prints a line per function: for looking at many at once.
//!
//! `cargo run --release -p candor-prove --example kernels -- SOURCE OBJECT [SECONDS] [FUNCTION...]`; SECONDS is the limit for one function on the
//! wall. Seconds that are printed: wall, then processor time of the prover and its solver, which does not depend on who else uses the
//! machine; then the most memory that either had so far.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_prove::image::Image;
use candor_prove::{Outcome, Prover, Settings, source_ir};
use candor_toolchain::{Sandbox, Scratch};

/// Clock ticks and peak memory (KB) by process, as seen last.
type Seen = Arc<Mutex<BTreeMap<u32, (u64, u64)>>>;

/// Ticks per second of /proc/*/stat on Linux.
const TICKS: f64 = 100.0;

/// Processor ticks of a process and its parent.
fn ticks(process: u32) -> Option<(u64, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    let used = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some((used, fields.get(1)?.parse().ok()?))
}

fn peak(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Looks at ourselves and our descendants.
fn look(seen: &Seen) {
    let own = std::process::id();
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return;
    };
    let mut parents: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
    for entry in folder.flatten() {
        if let Some(process) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            && let Some(found) = ticks(process)
        {
            parents.insert(process, found);
        }
    }
    let ours = |mut process: u32| {
        for _ in 0..20 {
            if process == own {
                return true;
            }
            match parents.get(&process) {
                Some((_, parent)) => process = *parent,
                None => return false,
            }
        }
        false
    };
    for (process, (used, _)) in &parents {
        if ours(*process)
            && let Some(peak) = peak(*process)
            && let Ok(mut seen) = seen.lock()
        {
            seen.insert(*process, (*used, peak));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let source = PathBuf::from(arguments.next().ok_or("give a source")?);
    let object = PathBuf::from(arguments.next().ok_or("give an object")?);
    let mut wanted: Vec<String> = arguments.collect();
    let mut settings = Settings::default();
    if let Some(seconds) = wanted.first().and_then(|word| word.parse().ok()) {
        settings.time = Duration::from_secs(seconds);
        // a question may wait for the machine, too
        settings.solver.timeout = Duration::from_secs((seconds / 6).max(10));
        wanted.remove(0);
    }
    let seen = Seen::default();
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let (seen, stop) = (seen.clone(), stop.clone());
        move || {
            while !stop.load(Ordering::Relaxed) {
                look(&seen);
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    });
    let totals = || -> (u64, u64) {
        look(&seen);
        let seen = seen.lock().map(|seen| seen.clone()).unwrap_or_default();
        let used = seen.values().map(|(used, _)| used).sum();
        (
            used,
            seen.values().map(|(_, peak)| *peak).max().unwrap_or(0),
        )
    };
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let module = source_ir(&sandbox, &scratch, &source, &[])?;
    let image = Image::load(&object)?;
    let prover = Prover::new(&sandbox, &scratch, settings);
    for (name, _) in &module.functions {
        if !wanted.is_empty() && !wanted.contains(name) {
            continue;
        }
        let before = totals().0;
        let verdict = prover.prove(&image, &module, name)?;
        let (after, memory) = totals();
        let (word, detail) = match &verdict.outcome {
            Outcome::Proved(proof) => (
                "proved",
                format!("{} rounds, {} tried", proof.rounds, proof.tried),
            ),
            Outcome::Different(difference) => ("DIFFERENT", difference.what.clone()),
            Outcome::Undecided(reason) => ("undecided", reason.clone()),
        };
        println!(
            "{name:12} {word:10} {:6.2} s {:6.2} s cpu {:5} queries {:6.2} s solver {:4} MB  {detail}",
            verdict.seconds,
            (after - before) as f64 / TICKS,
            verdict.queries,
            verdict.solver_seconds,
            memory >> 10
        );
    }
    stop.store(true, Ordering::Relaxed);
    let _ = watcher.join();
    Ok(())
}

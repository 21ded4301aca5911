//! Processor time and memory of this process and of those it starts: what a busy machine does not change.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// Forgets the peaks so far.
fn forget(seen: &Seen) {
    // What the kernel remembers of ourselves; without the right to, the peak stays that of everything before.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    if let Ok(mut seen) = seen.lock() {
        for (_, peak) in seen.values_mut() {
            *peak = 0;
        }
    }
}

/// Watches until it is dropped.
pub struct Watch {
    seen: Seen,
    stop: Arc<AtomicBool>,
}

impl Watch {
    pub fn start() -> Self {
        let watch = Watch {
            seen: Seen::default(),
            stop: Arc::default(),
        };
        let (seen, stop) = (watch.seen.clone(), watch.stop.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                look(&seen);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        watch
    }

    /// Seconds of processor time so far, and the most memory (MB) that any of the processes had since the last call.
    pub fn totals(&self) -> (f64, u64) {
        look(&self.seen);
        let seen = self.seen.lock().map(|seen| seen.clone());
        let seen = seen.unwrap_or_default();
        let used: u64 = seen.values().map(|(used, _)| used).sum();
        let peak = seen.values().map(|(_, peak)| *peak).max().unwrap_or(0);
        forget(&self.seen);
        (used as f64 / TICKS, peak >> 10)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

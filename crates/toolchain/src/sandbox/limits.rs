//! What a sandboxed run may use, and how it ended.

use std::time::Duration;

/// Bounds of one run. Every run has all of them: there is no "unlimited" for hostile input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time, after which the whole process tree is killed.
    pub wall: Duration,
    /// CPU time of one process (RLIMIT_CPU; the kernel counts whole seconds, rounded up).
    pub cpu: Duration,
    /// Address space in bytes (RLIMIT_AS). `None` for sanitizer builds, which reserve terabytes
    /// and are bounded by their own `hard_rss_limit_mb` instead.
    pub memory: Option<u64>,
    /// Processes alive at one time, the program itself included.
    pub processes: u32,
    /// Size of any one file written, in bytes (RLIMIT_FSIZE).
    pub file_size: u64,
    /// Bytes taken from standard output and from standard error, each.
    pub output: usize,
}

impl Limits {
    /// For generated programs: short, small, alone.
    pub fn program() -> Self {
        Limits {
            wall: Duration::from_secs(10),
            cpu: Duration::from_secs(5),
            memory: Some(2 << 30),
            processes: 16,
            file_size: 64 << 20,
            output: 8 << 20,
        }
    }

    /// For compilers and linkers. A hang burns CPU time; the wall clock is generous, because a loaded
    /// machine is not the compiler's fault.
    pub fn compiler() -> Self {
        Limits {
            wall: Duration::from_secs(240),
            cpu: Duration::from_secs(60),
            memory: Some(4 << 30),
            processes: 64,
            file_size: 1 << 30,
            output: 4 << 20,
        }
    }

    /// The same limits with another time limit (wall and CPU alike).
    pub fn with_time(mut self, time: Duration) -> Self {
        self.wall = time;
        self.cpu = self.cpu.min(time);
        self
    }
}

/// Which bound ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The wall clock.
    Wall,
    /// CPU time.
    Cpu,
    /// Bytes printed.
    Output,
    /// Processes alive.
    Processes,
    /// A file grew too large.
    FileSize,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Bound::Wall => "wall-clock limit",
            Bound::Cpu => "CPU limit",
            Bound::Output => "output limit",
            Bound::Processes => "process limit",
            Bound::FileSize => "file-size limit",
        })
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It returned this exit status.
    Exited(i32),
    /// This signal ended it, and no bound of ours sent it.
    Signalled(i32),
    /// It ran into one of our bounds and was killed with everything it had started.
    Exceeded(Bound),
}

impl Ending {
    /// Exit status 0.
    pub fn success(self) -> bool {
        self == Ending::Exited(0)
    }

    /// Ended by the clock, whichever.
    pub fn timed_out(self) -> bool {
        matches!(self, Ending::Exceeded(Bound::Wall | Bound::Cpu))
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Exited(code) => write!(f, "exit status {code}"),
            Ending::Signalled(signal) => match nix::sys::signal::Signal::try_from(*signal) {
                Ok(name) => write!(f, "{name}"),
                Err(_) => write!(f, "signal {signal}"),
            },
            Ending::Exceeded(bound) => write!(f, "{bound} reached"),
        }
    }
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Standard output, cut at [`Limits::output`].
    pub stdout: Vec<u8>,
    /// Standard error, cut likewise.
    pub stderr: Vec<u8>,
    /// User plus system time of the program and the children it waited for.
    pub cpu: Duration,
    /// Wall-clock time from start to end.
    pub wall: Duration,
    /// Largest resident set of any of its processes, in bytes.
    pub peak_memory: u64,
}

impl Finished {
    /// Standard error as text, for messages.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard output as text.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

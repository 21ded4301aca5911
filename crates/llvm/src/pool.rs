//! Workers: processes that hold a loaded, watched libLLVM and fork one child per run.
//!
//! LLVM aborts by itself at times, loops, exhausts memory or calls `exit`, and its options are global:
//! every run gets a child of its own, which starts from the loaded library in well under a
//! millisecond. The process tree:
//!
//! ```text
//! candor ── loader (loads the library once, waits) ─┬─ worker 0 ── child per run
//!                                                   └─ worker 1 ── child per run
//! ```
//!
//! Nothing is executed (`execve`) here: the children only run library code on data. They have time and
//! memory limits, and their output goes into memory files. Workers end when candor closes their
//! connections, however it ended; children end with their worker (PR_SET_PDEATHSIG, which is no use
//! for the loader: it follows the *thread* that forked, and candor has several).

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::{Error, Library};

/// Turns a request into an answer, in a child of its own.
pub type Work = fn(&Engine, &[u8]) -> Vec<u8>;

/// How a library is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loading {
    /// As it is.
    Plain,
    /// With detours.
    Watched,
    /// With detours and in huge pages: some tenths of a second and 120 MB once, for runs that take a third
    /// less each. For many runs.
    Resident,
}

/// Bounds of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Memory beyond what the loaded library takes, in bytes.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(20),
            memory: 2 << 30,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ending")]
pub enum Ending {
    /// It answered.
    Answered {
        /// The worker function's result.
        #[serde(skip)]
        answer: Vec<u8>,
    },
    /// The library called `exit` (as it does on an unknown option).
    Exited {
        /// Its status.
        status: i32,
        /// What it printed.
        output: String,
    },
    /// A signal ended it: an abort, an assertion, a stack overflow.
    Crashed {
        /// The signal's name.
        signal: String,
        /// What it printed.
        output: String,
    },
    /// It took longer than allowed.
    TimedOut {
        /// The limit in seconds.
        seconds: u64,
    },
    /// It wanted more memory than allowed.
    OutOfMemory {
        /// The limit in bytes.
        bytes: u64,
    },
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = |output: &str| match output.lines().next() {
            Some(line) => format!(": {line}"),
            None => String::new(),
        };
        match self {
            Ending::Answered { .. } => f.write_str("it answered"),
            Ending::Exited { status, output } => write!(
                f,
                "the library ended the process with status {status}{}",
                first(output)
            ),
            Ending::Crashed { signal, output } => {
                write!(f, "the pass crashed ({signal}){}", first(output))
            }
            Ending::TimedOut { seconds } => write!(f, "the pass took longer than {seconds} s"),
            Ending::OutOfMemory { bytes } => {
                write!(f, "the pass wanted more than {} MiB of memory", bytes >> 20)
            }
        }
    }
}

/// Workers for one library.
#[derive(Debug)]
pub struct Pool {
    library: std::path::PathBuf,
    limits: Limits,
    loader: libc::pid_t,
    workers: Vec<Mutex<UnixStream>>,
}

/// Bytes of a run's own output that are kept.
const OUTPUT: u64 = 1 << 14;
/// How often a waiting caller looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);

impl Pool {
    /// Starts `count` workers that hold `library`.
    ///
    /// The loader is forked from this process: call it before other threads hold locks that the
    /// loader would need (it takes none but the allocator's, which survives a fork).
    pub fn start(
        library: &Library,
        count: usize,
        limits: Limits,
        loading: Loading,
        work: Work,
    ) -> Result<Self, Error> {
        let system = |doing| move |source| Error::System { doing, source };
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..count.max(1) {
            let (a, b) = UnixStream::pair().map_err(system("make a socket pair"))?;
            ours.push(a);
            theirs.push(b);
        }
        // SAFETY: the child uses its own copy of the memory, allocates (glibc keeps its allocator
        // usable across fork) and never returns from `load_and_serve`.
        let loader = match unsafe { libc::fork() } {
            -1 => {
                return Err(system("start a worker")(io::Error::last_os_error()));
            }
            0 => {
                drop(ours);
                load_and_serve(library, theirs, limits, loading, work)
            }
            pid => pid,
        };
        drop(theirs);
        let pool = Pool {
            library: library.path.clone(),
            limits,
            loader,
            workers: ours.into_iter().map(Mutex::new).collect(),
        };
        for worker in &pool.workers {
            let mut stream = worker
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let greeting = pool.receive(&mut stream, Duration::from_secs(120), &|| false)?;
            if !greeting.is_empty() {
                return Err(Error::Load {
                    path: pool.library.clone(),
                    reason: String::from_utf8_lossy(&greeting).into_owned(),
                });
            }
        }
        Ok(pool)
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Has worker number `worker` answer `request`. Calls for one worker queue up.
    pub fn run(
        &self,
        worker: usize,
        request: &[u8],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Ending, Error> {
        let Some(worker) = self.workers.get(worker % self.workers.len().max(1)) else {
            return Err(Error::Protocol {
                reason: "there are no workers".to_owned(),
            });
        };
        let mut stream = worker
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        send(&mut stream, &[request]).map_err(|source| Error::WorkerDied {
            path: self.library.clone(),
            detail: source.to_string(),
        })?;
        // The child's own alarm comes first; this is for a machine that stands still.
        let patience = self.limits.time + Duration::from_secs(30);
        let reply = self.receive(&mut stream, patience, interrupted)?;
        parse_reply(&reply, &self.limits)
    }

    fn receive(
        &self,
        stream: &mut UnixStream,
        patience: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, Error> {
        let died = |detail: String| Error::WorkerDied {
            path: self.library.clone(),
            detail,
        };
        stream
            .set_read_timeout(Some(LOOK))
            .map_err(|source| Error::System {
                doing: "wait for a worker",
                source,
            })?;
        let deadline = Instant::now() + patience;
        let mut read = |buffer: &mut [u8]| -> Result<(), Error> {
            let mut filled = 0;
            while let Some(rest) = buffer.get_mut(filled..)
                && !rest.is_empty()
            {
                match stream.read(rest) {
                    Ok(0) => return Err(died("it closed its connection".to_owned())),
                    Ok(n) => filled += n,
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::WouldBlock
                                | io::ErrorKind::TimedOut
                                | io::ErrorKind::Interrupted
                        ) =>
                    {
                        if interrupted() {
                            return Err(Error::Interrupted);
                        }
                        if Instant::now() > deadline {
                            return Err(died("it does not answer".to_owned()));
                        }
                    }
                    Err(error) => return Err(died(error.to_string())),
                }
            }
            Ok(())
        };
        let mut length = [0; 8];
        read(&mut length)?;
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > MESSAGE {
            return Err(Error::Protocol {
                reason: format!("a message of {length} bytes was announced"),
            });
        }
        let mut message = vec![0; length];
        read(&mut message)?;
        Ok(message)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: our own child, not reaped yet; its workers and their children die with it.
        unsafe {
            libc::kill(self.loader, libc::SIGKILL);
            libc::waitpid(self.loader, std::ptr::null_mut(), 0);
        }
    }
}

/// No request or answer is larger.
const MESSAGE: usize = 1 << 30;

fn send(stream: &mut UnixStream, parts: &[&[u8]]) -> io::Result<()> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    stream.write_all(&(length as u64).to_le_bytes())?;
    parts.iter().try_for_each(|part| stream.write_all(part))
}

/// A reply: status (4 bytes), length of the output (4 bytes), output, answer.
fn parse_reply(reply: &[u8], limits: &Limits) -> Result<Ending, Error> {
    let bad = || Error::Protocol {
        reason: "a reply is too short".to_owned(),
    };
    let (status, rest) = reply.split_first_chunk::<4>().ok_or_else(bad)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(bad)?;
    let status = i32::from_le_bytes(*status);
    let (output, answer) = rest
        .split_at_checked(u32::from_le_bytes(*length) as usize)
        .ok_or_else(bad)?;
    let output = String::from_utf8_lossy(output).trim().to_owned();
    let no_memory = ["out of memory", "bad_alloc", "memory allocation of"]
        .iter()
        .any(|words| output.contains(words));
    Ok(if libc::WIFEXITED(status) {
        match libc::WEXITSTATUS(status) {
            0 if !answer.is_empty() => Ending::Answered {
                answer: answer.to_vec(),
            },
            status => Ending::Exited { status, output },
        }
    } else if no_memory {
        Ending::OutOfMemory {
            bytes: limits.memory,
        }
    } else {
        match libc::WTERMSIG(status) {
            libc::SIGALRM | libc::SIGXCPU => Ending::TimedOut {
                seconds: limits.time.as_secs(),
            },
            signal => Ending::Crashed {
                signal: signal_name(signal),
                output,
            },
        }
    })
}

fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal).map_or_else(
        |_| format!("signal {signal}"),
        |known| known.as_str().to_owned(),
    )
}

/// The loader's life. Never returns.
fn load_and_serve(
    library: &Library,
    streams: Vec<UnixStream>,
    limits: Limits,
    loading: Loading,
    work: Work,
) -> ! {
    // SAFETY: a group of our own: Ctrl-C is the parent's business.
    unsafe { libc::setpgid(0, 0) };
    let loaded = Engine::load(library, loading);
    let mut children = 0;
    let me = std::process::id();
    for mut stream in streams {
        let greeting = loaded
            .as_ref()
            .err()
            .map_or(&[][..], |reason| reason.as_bytes());
        if send(&mut stream, &[greeting]).is_err() {
            exit(1);
        }
        let Ok(engine) = &loaded else { continue };
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            0 => {
                die_with(me);
                serve(engine, stream, limits, work)
            }
            -1 => exit(1),
            _ => children += 1,
        }
    }
    for _ in 0..children {
        // SAFETY: waits for any child.
        unsafe { libc::wait(std::ptr::null_mut()) };
    }
    exit(0)
}

/// Passes that write files (coverage notes, graphs) do so where they are run, or where the IR says: nowhere, here. What the kernel
/// cannot hold back (no Landlock) is at least not written into the user's directory.
fn hold_back_writes() {
    use landlock::{ABI, AccessFs, Ruleset, RulesetAttr as _};
    let _ = nix::unistd::chdir("/proc");
    let _ = Ruleset::default()
        .handle_access(AccessFs::from_write(ABI::V3))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
}

/// A worker's life: one child per request, until the parent hangs up.
fn serve(engine: &Engine, mut stream: UnixStream, limits: Limits, work: Work) -> ! {
    let (Some(answer), Some(output)) = (memory_file(), memory_file()) else {
        exit(1)
    };
    hold_back_writes();
    let me = std::process::id();
    let space = address_space().saturating_add(limits.memory);
    loop {
        let mut length = [0; 8];
        if stream.read_exact(&mut length).is_err() {
            exit(0);
        }
        let mut request = vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap_or(0)];
        if stream.read_exact(&mut request).is_err() {
            exit(0);
        }
        for file in [&answer, &output] {
            // SAFETY: our own memory files.
            unsafe {
                libc::ftruncate(file.as_raw_fd(), 0);
                libc::lseek(file.as_raw_fd(), 0, libc::SEEK_SET);
            }
        }
        // SAFETY: this process has one thread.
        let status = match unsafe { libc::fork() } {
            0 => {
                die_with(me);
                bound(&limits, space, &output);
                let result = work(engine, &request);
                let mut file = std::fs::File::from(answer);
                let written = file.write_all(&result).is_ok();
                // LLVM's destructors and exit handlers are not wanted.
                exit(i32::from(!written))
            }
            -1 => exit(1),
            pid => {
                let mut status = 0;
                // SAFETY: our own child.
                while unsafe { libc::waitpid(pid, &mut status, 0) } == -1
                    && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
                {
                }
                status
            }
        };
        let said = contents(&output, OUTPUT);
        let result = contents(&answer, u64::MAX);
        let sent = send(
            &mut stream,
            &[
                &status.to_le_bytes(),
                &(u32::try_from(said.len()).unwrap_or(0)).to_le_bytes(),
                &said,
                &result,
            ],
        );
        if sent.is_err() {
            exit(0);
        }
    }
}

/// Sets a child's limits (`space` bytes of addresses) and sends its output to `output`.
fn bound(limits: &Limits, space: u64, output: &OwnedFd) {
    let seconds = limits.time.as_secs().max(1);
    let limit = |resource, value: u64| {
        let limit = libc::rlimit {
            rlim_cur: value,
            rlim_max: value,
        };
        // SAFETY: plain data.
        unsafe { libc::setrlimit(resource, &limit) };
    };
    // SAFETY: signal dispositions, timers and descriptors of this child alone.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(u32::try_from(seconds).unwrap_or(u32::MAX));
        libc::dup2(output.as_raw_fd(), 1);
        libc::dup2(output.as_raw_fd(), 2);
    }
    limit(libc::RLIMIT_CPU, seconds + 1);
    limit(libc::RLIMIT_CORE, 0);
    limit(libc::RLIMIT_AS, space);
}

/// Bytes of address space this process has now.
fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    pages.map_or(1 << 32, |pages| pages * 4096)
}

fn memory_file() -> Option<OwnedFd> {
    // SAFETY: a new descriptor of our own.
    unsafe {
        let fd = libc::memfd_create(c"candor".as_ptr(), libc::MFD_CLOEXEC);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// What is in a memory file, whatever its position.
fn contents(file: &OwnedFd, most: u64) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let Ok(file) = file.try_clone().map(std::fs::File::from) else {
        return Vec::new();
    };
    let length = file.metadata().map_or(0, |data| data.len()).min(most);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Ends this process when `parent` ends.
fn die_with(parent: u32) {
    // SAFETY: plain system calls.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid().unsigned_abs() != parent {
            libc::_exit(1);
        }
    }
}

fn exit(status: i32) -> ! {
    // SAFETY: ends this process without running anybody's exit handlers.
    unsafe { libc::_exit(status) }
}

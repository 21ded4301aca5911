//! A first parse in a child with limits: what libclang does to a hostile program is not done to us.
//!
//! An initialiser of a few characters can make clang take twenty gigabytes, a macro can keep it busy for hours, and
//! either would end candor with everything it holds. So a program is parsed in a forked child before it is
//! parsed here. Nothing is handed back but that it can be done: the second parse takes milliseconds, less than
//! moving the syntax tree between processes would.
//!
//! Forking a program with threads is sound here because at the moment of the fork no other thread is inside libclang
//! ([`INSIDE`]), because the C library brings its own locks (allocator, loader) through a fork, and because the child
//! runs nothing else of ours.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

/// Memory that a parse may take beyond what the process has already.
const MEMORY: u64 = 2 << 30;

/// Seconds of processor time, and on the clock for what waits (`#include "/dev/tty"`).
const CPU: u64 = 20;
const WALL: u32 = 60;

/// Programs remembered as harmless.
const REMEMBERED: usize = 64;

/// Held for reading by whoever is inside libclang.
static INSIDE: RwLock<()> = RwLock::new(());

/// To be held while libclang is called in this process.
pub(crate) fn inside() -> RwLockReadGuard<'static, ()> {
    INSIDE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Programs that passed their trial.
#[derive(Default)]
pub(crate) struct Trials {
    passed: Mutex<VecDeque<u64>>,
}

impl Trials {
    /// Parses `subject` in a child, unless that was done; the reason when it may not be parsed here. `parse`
    /// says whether libclang came back with an answer, be it that the program is wrong.
    pub(crate) fn admit(
        &self,
        subject: &impl std::hash::Hash,
        parse: impl FnOnce() -> bool,
    ) -> Result<(), String> {
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        let name = hasher.finish();
        let lock = || self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().contains(&name) {
            return Ok(());
        }
        in_child(parse)?;
        let mut passed = lock();
        if passed.len() >= REMEMBERED {
            passed.pop_front();
        }
        passed.push_back(name);
        Ok(())
    }
}

fn in_child(parse: impl FnOnce() -> bool) -> Result<(), String> {
    let limit = address_space().saturating_add(MEMORY);
    let alone = INSIDE.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: see the top of this file; the child leaves by _exit and never returns from here.
    let child = match unsafe { libc::fork() } {
        0 => {
            std::mem::forget(alone);
            restrict(limit);
            let answered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(parse));
            // SAFETY: ends the child at once; what its parent would clean up is the parent's.
            unsafe { libc::_exit(if answered.unwrap_or(false) { 0 } else { 1 }) }
        }
        child => child,
    };
    drop(alone);
    if child < 0 {
        return Err(format!(
            "no process to try it in: {}",
            std::io::Error::last_os_error()
        ));
    }
    let mut status = 0;
    // SAFETY: `status` is ours; the child is nobody else's to wait for.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(format!("its trial cannot be waited for: {error}"));
        }
    }
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        return Ok(());
    }
    let killed = |signal| libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == signal;
    Err(if killed(libc::SIGXCPU) {
        format!("clang needs more than {CPU} s of processor time for it")
    } else if killed(libc::SIGALRM) {
        format!("clang was not done with it after {WALL} s")
    } else {
        format!(
            "clang crashes on it, or needs more than {} GB of memory for it",
            MEMORY >> 30
        )
    })
}

/// Bytes of address space that this process has.
fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    pages.unwrap_or(1 << 20) * 4096
}

/// Limits of the child, and silence: clang's last words are not for the user's terminal.
fn restrict(address_space: u64) {
    let limit = |soft, hard| libc::rlimit {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: plain system calls on values of our own. What fails leaves the child as it is.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in [libc::SIGXCPU, libc::SIGALRM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::setrlimit(libc::RLIMIT_AS, &limit(address_space, address_space));
        libc::setrlimit(libc::RLIMIT_CPU, &limit(CPU, CPU + 1));
        libc::setrlimit(libc::RLIMIT_CORE, &limit(0, 0));
        libc::alarm(WALL);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if nothing >= 0 {
            for descriptor in 0..=2 {
                libc::dup2(nothing, descriptor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_back_is_refused_and_what_does_is_remembered() {
        let trials = Trials::default();
        assert_eq!(trials.admit(&"fine", || true), Ok(()));
        assert_eq!(trials.admit(&"fine", || false), Ok(())); // not tried again
        let refused = trials.admit(&"gave up", || false).unwrap_err();
        assert!(refused.contains("crashes"), "{refused}");
        assert!(
            trials
                .admit(&"panics", || panic!("a planted panic"))
                .is_err()
        );
        let hungry = || {
            let mut taken: Vec<Vec<u8>> = Vec::new();
            loop {
                taken.push(vec![1; 64 << 20]);
                if taken.len() > 1024 {
                    return true;
                }
            }
        };
        let refused = trials.admit(&"hungry", hungry).unwrap_err();
        assert!(refused.contains("2 GB"), "{refused}");
    }
}

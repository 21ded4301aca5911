//! What this kernel allows, asked by trying.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use landlock::{
    ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
};

use crate::Error;

/// The parts of the sandbox that depend on the kernel and on our rights.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Capabilities {
    /// Process trees die as a whole, whatever they do.
    pub pid_namespace: bool,
    /// Programs have no network.
    pub network_namespace: bool,
    /// Landlock's ABI version: programs write only below their directory.
    pub landlock: Option<u32>,
}

impl Capabilities {
    /// One sentence per missing part: what does not hold, and what to do about it.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        if !self.pid_namespace {
            all.push(
                "no PID namespaces: a program that leaves its process group can outlive its run \
                 (allow user namespaces: sysctl kernel.unprivileged_userns_clone=1)",
            );
        }
        if !self.network_namespace {
            all.push(
                "no network namespaces: programs can reach the network \
                 (allow user namespaces, or run as root)",
            );
        }
        if self.landlock.is_none() {
            all.push(
                "no Landlock: programs can write outside their directory \
                 (Linux 5.13 or later with lsm=landlock)",
            );
        }
        all
    }
}

/// Tries each part. The file descriptor is the network namespace that children join when we are root.
pub(super) fn detect() -> (Capabilities, Option<Arc<OwnedFd>>) {
    // SAFETY: no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    let user = if root { 0 } else { libc::CLONE_NEWUSER };
    let pid_namespace = clone_works(user | libc::CLONE_NEWPID | libc::CLONE_NEWNS);
    let network = if root { empty_network() } else { None };
    let network_namespace =
        network.is_some() || (!root && pid_namespace && clone_works(user | libc::CLONE_NEWNET));
    let landlock = landlock_abi();
    (
        Capabilities {
            pid_namespace,
            network_namespace,
            landlock,
        },
        network.map(Arc::new),
    )
}

fn clone_works(flags: libc::c_int) -> bool {
    // SAFETY: the child does nothing but exit.
    unsafe {
        let pid = libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t;
        if pid == 0 {
            libc::_exit(0);
        }
        let mut status = 0;
        pid > 0 && libc::waitpid(pid, &mut status, 0) == pid
    }
}

/// A network namespace with nothing in it, made on a thread of its own so that we stay in ours.
fn empty_network() -> Option<OwnedFd> {
    std::thread::spawn(|| {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).ok()?;
        let file = std::fs::File::open("/proc/thread-self/ns/net").ok()?;
        Some(OwnedFd::from(file))
    })
    .join()
    .ok()
    .flatten()
}

fn landlock_abi() -> Option<u32> {
    const VERSION_FLAG: u32 = 1;
    // SAFETY: asks for the version only.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            VERSION_FLAG,
        )
    };
    u32::try_from(abi).ok().filter(|&abi| abi > 0)
}

/// Devices that are no place to keep anything, which programs expect to open for writing.
const HARMLESS: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// A Landlock rule set: reading everywhere, writing only below `directory` and `more`.
pub(super) fn write_only_below(
    directory: &Path,
    more: &[PathBuf],
) -> Result<Option<OwnedFd>, Error> {
    let build = || -> Result<RulesetCreated, Box<dyn std::error::Error>> {
        let write = AccessFs::from_write(ABI::V3);
        let mut rules = Ruleset::default().handle_access(write)?.create()?;
        let always = [directory]
            .into_iter()
            .chain(more.iter().map(PathBuf::as_path));
        for path in always {
            rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, write))?;
        }
        for path in HARMLESS.map(Path::new) {
            if let Ok(open) = PathFd::new(path) {
                let access = if path.is_dir() {
                    write
                } else {
                    AccessFs::WriteFile | AccessFs::Truncate
                };
                rules = rules.add_rule(PathBeneath::new(open, access))?;
            }
        }
        Ok(rules)
    };
    match build() {
        Ok(rules) => Ok(rules.into()),
        Err(error) => Err(Error::Confinement {
            directory: directory.to_owned(),
            reason: error.to_string(),
        }),
    }
}

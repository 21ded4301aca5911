//! Ctrl-C: the first ends what runs and keeps what was found; the second ends candor at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use candor_toolchain::Sandbox;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: nix::libc::c_int) {
    if ASKED.swap(true, Ordering::SeqCst) {
        // SAFETY: async-signal-safe; children die with us (PR_SET_PDEATHSIG).
        unsafe { nix::libc::_exit(130) };
    }
    if let Some(sandbox) = SANDBOX.get() {
        sandbox.interrupt();
    }
}

/// From now on SIGINT and SIGTERM end `sandbox`'s runs instead of candor.
pub fn install(sandbox: &Sandbox) {
    if SANDBOX.set(sandbox.clone()).is_err() {
        return;
    }
    let action = SigAction::new(
        SigHandler::Handler(on_signal),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler touches atomics only.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

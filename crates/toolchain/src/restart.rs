//! Starting candor itself again under another loader, in place of this process.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::Error;

/// Whether this process was started by that loader.
pub fn is_under(loader: &Path) -> bool {
    let own = std::fs::canonicalize("/proc/self/exe");
    let loader = std::fs::canonicalize(loader);
    matches!((own, loader), (Ok(own), Ok(loader)) if own == loader)
}

/// Replaces this process by the same program with the same arguments, started by `loader` with the libraries of a
/// folder. Comes back only with the reason why that did not work.
pub fn under(loader: &Path, libraries: &Path, arguments: &[OsString]) -> Error {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(source) => {
            return Error::System {
                doing: "tell where candor is",
                source,
            };
        }
    };
    let source = Command::new(loader)
        .arg("--library-path")
        .arg(libraries)
        .arg(own)
        .args(arguments)
        .exec();
    Error::NotStarted {
        program: loader.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_under_the_system_s_loader() {
        assert!(!is_under(Path::new("/lib64/ld-linux-x86-64.so.2")));
        assert!(!is_under(Path::new("/nowhere")));
        assert!(is_under(&std::env::current_exe().unwrap()));
        let error = under(Path::new("/nowhere"), Path::new("/"), &[]);
        assert!(error.to_string().contains("/nowhere"), "{error}");
    }
}

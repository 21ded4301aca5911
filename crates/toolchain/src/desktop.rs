//! The user's own desktop: showing a page in a browser. A browser is not a program under test: it is neither
//! confined nor bounded, and it outlives candor.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::Error;
use crate::sandbox::find_on_path;

/// Opens a file or an address with `$BROWSER`, else with the desktop's own opener.
pub fn open(target: &str) -> Result<(), Error> {
    let named = std::env::var("BROWSER")
        .ok()
        .filter(|name| !name.is_empty());
    let opener = named
        .as_deref()
        .and_then(find_on_path)
        .or_else(|| find_on_path("xdg-open"))
        .ok_or_else(|| Error::NotOnPath {
            program: named.unwrap_or_else(|| "xdg-open".into()),
        })?;
    Command::new(&opener)
        .arg(target)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // its own group: Ctrl-C for candor is not meant for it
        .process_group(0)
        .spawn()
        .map(drop)
        .map_err(|source| Error::NotStarted {
            program: opener,
            source,
        })
}

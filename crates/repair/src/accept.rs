//! Whether a repaired file may be written, and writing it.
//!
//! The code and everything that is loaded must be the same byte by byte (but for where the ELF header says that the section table
//! is), and `llvm-dwarfdump --verify` must not complain of more
//! than before. The file is written under a temporary name next to its place and renamed, so that there is either a
//! whole file or none.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use candor_toolchain::sandbox::find_on_path;
use candor_toolchain::{Ending, Job, Limits, Sandbox, Scratch};
use object::{Object, ObjectSection, ObjectSegment, SectionFlags};

use crate::Error;

/// What acceptance found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Accepted {
    /// Bytes before.
    pub bytes_before: usize,
    /// Bytes after.
    pub bytes_after: usize,
    /// Complaints of `llvm-dwarfdump --verify` before and after; `None` where it does not come to an end on the input.
    pub complaints: Option<(usize, usize)>,
}

/// Checks a repaired file against the one it comes from.
pub fn accept(
    sandbox: &Sandbox,
    scratch: &Scratch,
    before: &[u8],
    after: &[u8],
) -> Result<Accepted, Error> {
    let (old, new) = (loaded(before)?, loaded(after)?);
    if let Some(name) = old
        .keys()
        .chain(new.keys())
        .find(|name| old.get(*name) != new.get(*name))
    {
        return Err(Error::NotAccepted(format!("`{name}` would change")));
    }
    // Side by side: on a large program this is most of the time that a repair takes.
    let (old, new) = std::thread::scope(|scope| {
        let old = scope.spawn(|| complaints(sandbox, scratch, before));
        let new = complaints(sandbox, scratch, after);
        (old.join(), new)
    });
    let old = old.unwrap_or_else(|_| {
        Err(Error::NotAccepted(
            "the check of the input failed".to_owned(),
        ))
    })?;
    let complaints = match old {
        None => None,
        Some(old) => match new? {
            Some(new) if new <= old => Some((old, new)),
            Some(new) => {
                return Err(Error::NotAccepted(format!(
                    "llvm-dwarfdump --verify would complain of {new} things instead of {old}"
                )));
            }
            None => {
                return Err(Error::NotAccepted(
                    "llvm-dwarfdump --verify ends on the input, but not on the result".to_owned(),
                ));
            }
        },
    };
    Ok(Accepted {
        bytes_before: before.len(),
        bytes_after: after.len(),
        complaints,
    })
}

/// Everything that is loaded, by segment and section.
fn loaded(bytes: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let broken = |error: object::Error| Error::NotAccepted(format!("it cannot be read: {error}"));
    let file = object::File::parse(bytes).map_err(broken)?;
    let mut all = BTreeMap::new();
    for (number, segment) in file.segments().enumerate() {
        let mut data = segment.data().map_err(broken)?.to_vec();
        if segment.file_range().0 == 0 {
            // the ELF header is loaded too, and says where the section table is and how long
            for at in (40..48).chain(60..62) {
                if let Some(byte) = data.get_mut(at) {
                    *byte = 0;
                }
            }
        }
        all.insert(format!("segment {number}"), data);
    }
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            continue;
        };
        if sh_flags.contains(object::elf::SHF_ALLOC) {
            let name = section.name().map_err(broken)?;
            let key = format!(
                "section {} {name} at {:#x}",
                section.index().0,
                section.address()
            );
            let mut data = section.data().map_err(broken)?.to_vec();
            for (offset, relocation) in section.relocations() {
                data.extend(format!("{offset:x} {:?}", relocation.addend()).bytes());
                if let object::RelocationTarget::Symbol(symbol) = relocation.target() {
                    use object::ObjectSymbol as _;
                    let symbol = file.symbol_by_index(symbol).map_err(broken)?;
                    data.extend(symbol.name_bytes().map_err(broken)?);
                    data.extend(symbol.address().to_le_bytes());
                    data.extend(symbol.section_index().map_or(0, |i| i.0).to_le_bytes());
                }
            }
            all.insert(key, data);
        }
    }
    Ok(all)
}

/// Time for `llvm-dwarfdump --verify`: on some of gcc's objects it takes minutes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines of `llvm-dwarfdump --verify` that complain; `None` if it did not come to an end.
fn complaints(sandbox: &Sandbox, scratch: &Scratch, bytes: &[u8]) -> Result<Option<usize>, Error> {
    let tool = (14..=23)
        .rev()
        .map(|version| format!("llvm-dwarfdump-{version}"))
        .chain(["llvm-dwarfdump".to_owned()])
        .find(|name| find_on_path(name).is_some())
        .ok_or_else(|| candor_toolchain::Error::NotOnPath {
            program: "llvm-dwarfdump-19".to_owned(),
        })?;
    let job = scratch.job()?;
    let path = job.path().join("file");
    std::fs::write(&path, bytes).map_err(|source| Error::File {
        doing: "write",
        path: path.clone(),
        source,
    })?;
    let run = Job::new(&tool, job.path()).args(["--verify", "file"]);
    let limits = Limits {
        output: 256 << 20,
        wall: PATIENCE,
        ..Limits::compiler()
    };
    let finished = sandbox.run(&run, &limits)?;
    // it ends with 1 where it complains
    if !matches!(finished.ending, Ending::Exited(0 | 1)) {
        return Ok(None);
    }
    let text = finished.stdout_text() + &finished.stderr_text();
    Ok(Some(
        text.lines()
            .filter(|line| line.starts_with("error:") || line.starts_with("warning:"))
            .count(),
    ))
}

/// Writes a file next to its place, with the mode of the file it comes from, and renames it.
pub fn write(from: &Path, to: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::File {
        doing: "write",
        path: to.to_owned(),
        source,
    };
    let same = std::fs::canonicalize(from).ok() == std::fs::canonicalize(to).ok()
        && std::fs::canonicalize(to).is_ok();
    if same {
        return Err(Error::NotAccepted(
            "the output is the input; name another file".to_owned(),
        ));
    }
    let directory = match to.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    let mode = std::fs::metadata(from).map_err(failed)?.permissions();
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().set_permissions(mode).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(to).map_err(|error| failed(error.error))?;
    Ok(())
}

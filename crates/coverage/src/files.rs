//! Files, read and written with errors that name them.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::Error;

/// Reads bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| candor_toolchain::Error::file("read", path, source).into())
}

/// Reads text.
pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

/// Writes a file, whole or not at all.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::from(candor_toolchain::Error::file("write", path, source));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".candor-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Makes a directory and those above it.
pub(crate) fn make_directory(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path)
        .map_err(|source| candor_toolchain::Error::file("create", path, source).into())
}

/// An absolute path, also of something that does not exist yet.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(path)
        .map_err(|source| candor_toolchain::Error::file("resolve", path, source))?;
    Ok(normal(&absolute))
}

/// Without `.` and `..`, by the text alone: debug information names files of a build that may be gone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_debug_information_are_normalised_by_their_text() {
        let normal = |path: &str| normal(Path::new(path)).display().to_string();
        assert_eq!(normal("/b/gcc/../../src/gcc/./tree.cc"), "/src/gcc/tree.cc");
        assert_eq!(normal("/../x"), "/x");
    }
}

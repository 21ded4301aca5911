//! Variants on disk: `seed-001.c` and `seed-001.json`, both or neither, each whole or absent.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use candor_toolchain::{Error as ToolError, Program};

use crate::{Error, Variant};

/// Writes `content` beside `path` and renames it there, so that a reader never meets half a file.
fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::from(ToolError::file("write", path, source));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Writes one file whole or not at all, making its folder first.
///
/// # Errors
/// What the system says.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder)
            .map_err(|source| ToolError::file("create", folder, source))?;
    }
    write_whole(path, content)
}

/// Writes a variant and its sidecar into `directory`. The program comes first: a sidecar that is there has its program.
///
/// # Errors
/// What the system says.
pub fn save(variant: &Variant, program: &Program, directory: &Path) -> Result<PathBuf, Error> {
    let stem = program.path.file_stem().map_or_else(
        || "program".into(),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let path = directory.join(format!("{stem}-{:03}.c", variant.number));
    let sidecar = path.with_extension("json");
    let json = serde_json::to_string_pretty(variant).map_err(|error| Error::Sidecar {
        path: sidecar.clone(),
        reason: error.to_string(),
    })?;
    write_file(&path, variant.text(&program.text)?.as_bytes())?;
    write_file(&sidecar, format!("{json}\n").as_bytes())?;
    Ok(path)
}

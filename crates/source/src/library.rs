//! Finding libclang on the user's machine, loading it at run time, and parsing with it.
//!
//! Order: `CANDOR_LIBCLANG` (a file; when set, nothing else is tried), `LIBCLANG_PATH` (a file or folder, as
//! bindgen reads it), then the folders distributions use, newest version first.

use std::collections::HashSet;
use std::ffi::CString;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::{Api, Tu};
use crate::error::Error;
use crate::text;
use crate::trial::{self, Trials};
use crate::unit::Unit;
use crate::walk;

/// What to do when there is no libclang.
const ADVICE: &str =
    "install one with: apt-get install libclang1-19 (or give its path in CANDOR_LIBCLANG)";

/// Deep trees recurse, in clang's visitor and in ours; address space is all that a large stack costs.
const WALK_STACK: usize = 256 << 20;

/// gcc accepts these as warnings (clang 16 and later do not); the user's own compiler has the last word.
const LENIENT: [&str; 6] = [
    "-Wno-implicit-function-declaration",
    "-Wno-implicit-int",
    "-Wno-int-conversion",
    "-Wno-incompatible-function-pointer-types",
    "-Wno-return-type",
    "-ferror-limit=50",
];

/// A loaded libclang. Cloning is cheap; all clones and all threads share one library.
#[derive(Clone)]
pub struct Clang {
    api: Arc<Api>,
    path: PathBuf,
    version: String,
    headers: Vec<CString>,
    trials: Arc<Trials>,
}

impl fmt::Debug for Clang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clang")
            .field("path", &self.path)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Clang {
    /// Loads the libclang at `path`.
    ///
    /// # Errors
    /// [`Error::LibclangUnusable`] when it does not load or lacks functions.
    pub fn load_from(path: &Path) -> Result<Self, Error> {
        let api = Api::load(path).map_err(|reason| Error::LibclangUnusable {
            path: path.to_path_buf(),
            reason,
        })?;
        let version = api.version();
        let headers = header_flags(path, major(&version));
        Ok(Self {
            api: Arc::new(api),
            path: path.to_path_buf(),
            version,
            headers,
            trials: Arc::new(Trials::default()),
        })
    }

    /// Loads the first of [`candidates`] that works.
    ///
    /// # Errors
    /// [`Error::LibclangMissing`] with every place looked at; [`Error::LibclangUnusable`] when
    /// `CANDOR_LIBCLANG` names a file that is not usable, rather than silently taking another.
    pub fn find() -> Result<Self, Error> {
        if let Some(chosen) = environment("CANDOR_LIBCLANG") {
            return Self::load_from(&chosen);
        }
        let mut searched = Vec::new();
        for candidate in candidates() {
            match Self::load_from(&candidate) {
                Ok(clang) => return Ok(clang),
                Err(error) => searched.push(error.to_string()),
            }
        }
        if searched.is_empty() {
            searched = folders().iter().map(|f| f.display().to_string()).collect();
        }
        Err(Error::LibclangMissing {
            searched,
            advice: ADVICE.to_string(),
        })
    }

    /// As in `Debian clang version 19.1.7 (3+b1)`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The file that was loaded.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Parses a C file. With `text`, that text is taken for the file's content and the file need not exist
    /// (its folder still serves `#include "..."`). `flags` are the user's `-D`, `-I`, `-std`, `-include`, ...
    ///
    /// # Errors
    /// [`Error::Syntax`] with clang's complaints when the program has errors; the reading errors of
    /// [`text::read`] otherwise.
    pub fn parse(&self, file: &Path, text: Option<&str>, flags: &[String]) -> Result<Unit, Error> {
        self.parse_with(file, text, flags, &["-w"])
    }

    /// As [`Clang::parse`], with some warnings taken for errors: `uninitialized`, `return-type`, ...
    /// For judging programs whose behaviour must not be undefined.
    ///
    /// # Errors
    /// As [`Clang::parse`].
    pub fn parse_rejecting(
        &self,
        file: &Path,
        text: Option<&str>,
        flags: &[String],
        warnings: &[&str],
    ) -> Result<Unit, Error> {
        let mut last = vec!["-Wno-everything".to_owned()];
        last.extend(warnings.iter().map(|name| format!("-Werror={name}")));
        let last: Vec<&str> = last.iter().map(String::as_str).collect();
        self.parse_with(file, text, flags, &last)
    }

    fn parse_with(
        &self,
        file: &Path,
        text: Option<&str>,
        flags: &[String],
        last: &[&str],
    ) -> Result<Unit, Error> {
        let text = match text {
            Some(text) => text::check(file, text.as_bytes())?,
            None => text::read(file)?,
        };
        let failed = |reason: String| Error::Frontend {
            path: file.to_path_buf(),
            reason,
        };
        let name = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| failed("its name holds a NUL".into()))?;
        let mut arguments = self.headers.clone();
        let user = flags.iter().map(String::as_str);
        let last = last.iter().copied().chain(["-xc"]);
        for flag in LENIENT.into_iter().chain(user).chain(last) {
            let flag =
                CString::new(flag).map_err(|_| failed(format!("the flag {flag:?} holds a NUL")))?;
            arguments.push(flag);
        }
        let once = || self.parse_once(file, &name, &text, flags, &arguments);
        let answers = || !matches!(once(), Err(Error::Frontend { .. }));
        self.trials
            .admit(&(file, &text, &arguments), answers)
            .map_err(failed)?;
        let _inside = trial::inside();
        once()
    }

    fn parse_once(
        &self,
        file: &Path,
        name: &CString,
        text: &str,
        flags: &[String],
        arguments: &[CString],
    ) -> Result<Unit, Error> {
        let failed = |reason: String| Error::Frontend {
            path: file.to_path_buf(),
            reason,
        };
        // On a thread of our own: the caller's may have as little as 2 MiB of stack.
        std::thread::scope(|scope| {
            let walk = move || {
                let tu = Tu::parse(&self.api, name, text, arguments).map_err(failed)?;
                let mut diagnostics = tu.errors();
                if !diagnostics.is_empty() {
                    let omitted = diagnostics.len().saturating_sub(Error::MAX_DIAGNOSTICS);
                    diagnostics.truncate(Error::MAX_DIAGNOSTICS);
                    return Err(Error::Syntax {
                        path: file.to_path_buf(),
                        diagnostics,
                        omitted,
                    });
                }
                walk::walk(&tu, file, text.to_owned(), flags)
            };
            std::thread::Builder::new()
                .name("libclang".into())
                .stack_size(WALK_STACK)
                .spawn_scoped(scope, walk)
                .map_err(|error| failed(format!("no thread for it: {error}")))?
                .join()
                .unwrap_or_else(|_| Err(failed("the walk over its syntax tree failed".into())))
        })
    }
}

/// Every libclang of this machine, in the order [`Clang::find`] tries them.
#[must_use]
pub fn candidates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    found.extend(environment("CANDOR_LIBCLANG"));
    if let Some(path) = environment("LIBCLANG_PATH") {
        if path.is_dir() {
            found.extend(newest_first(libraries_in(&path)));
        } else {
            found.push(path);
        }
    }
    let installed = folders().iter().flat_map(|f| libraries_in(f)).collect();
    found.extend(newest_first(installed));

    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    found
}

fn environment(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Debian's per-version folders first: clang's own headers stand next to the library there.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for parent in ["/usr/lib", "/usr/lib64", "/usr/local"] {
        let versions = entries(Path::new(parent), "llvm");
        folders.extend(versions.into_iter().map(|folder| folder.join("lib")));
    }
    let multiarch = entries(Path::new("/usr/lib"), "").into_iter();
    folders.extend(multiarch.filter(|folder| name_of(folder).contains("-linux-gnu")));
    folders.extend(["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    folders.retain(|folder| folder.is_dir());
    folders
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The entries of a folder whose names begin with `prefix`, sorted.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| name_of(path).starts_with(prefix))
        .collect();
    paths.sort();
    paths
}

/// `libclang.so*` and `libclang-NN.so*`, but not `libclang-cpp.so*`, which has no C API.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let is_libclang = |name: &str| {
        let rest = name.strip_prefix("libclang").unwrap_or_default();
        let digits = rest.strip_prefix('-').unwrap_or_default();
        let numbered = digits.starts_with(|c: char| c.is_ascii_digit()) && digits.contains(".so");
        rest.starts_with(".so") || numbered
    };
    let mut libraries = entries(folder, "libclang");
    libraries.retain(|path| path.is_file() && is_libclang(&name_of(path)));
    libraries
}

/// A stable sort, so that the order of the folders decides within a version.
fn newest_first(mut libraries: Vec<PathBuf>) -> Vec<PathBuf> {
    libraries.sort_by_key(|path| std::cmp::Reverse(version_in(path)));
    libraries
}

/// The major version a library's path tells: `libclang-19.so.1`, `/usr/lib/llvm-19/`, `libclang.so.19.1`.
fn version_in(path: &Path) -> u32 {
    let name = name_of(path);
    let path = path.to_string_lossy();
    number_behind(&name, "libclang-")
        .or_else(|| number_behind(&path, "/llvm-"))
        .or_else(|| number_behind(&path, "/llvm"))
        .or_else(|| number_behind(&name, ".so."))
        .unwrap_or(0)
}

/// The number that follows the first `marker`.
fn number_behind(text: &str, marker: &str) -> Option<u32> {
    let (_, rest) = text.split_once(marker)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The major version out of `Debian clang version 19.1.7 (3+b1)`.
fn major(version: &str) -> u32 {
    number_behind(version, "version ").unwrap_or(0)
}

/// Flags that make `stddef.h` and its like resolve: clang's own headers, or failing these (the library's
/// package does not bring them) some gcc's, which clang reads as well.
fn header_flags(library: &Path, major: u32) -> Vec<CString> {
    let mut parents: Vec<PathBuf> = Vec::new();
    for path in [Some(library.to_path_buf()), fs::canonicalize(library).ok()] {
        parents.extend(path.and_then(|path| Some(path.parent()?.join("clang"))));
    }
    parents.push(format!("/usr/lib/llvm-{major}/lib/clang").into());
    parents.extend(["/usr/lib/clang", "/usr/lib64/clang", "/usr/local/lib/clang"].map(Into::into));
    let resources = parents
        .iter()
        .flat_map(|parent| entries(parent, &major.to_string()))
        .find(|folder| folder.join("include/stddef.h").is_file());
    let flags = match (resources, gcc_headers()) {
        (Some(folder), _) => vec!["-resource-dir".into(), folder.into_os_string()],
        (None, Some(folder)) => vec!["-isystem".into(), folder.into_os_string()],
        (None, None) => Vec::new(),
    };
    flags
        .iter()
        .filter_map(|flag| CString::new(flag.as_bytes()).ok())
        .collect()
}

/// `/usr/lib/gcc/<target>/<version>/include` of the newest gcc.
fn gcc_headers() -> Option<PathBuf> {
    entries(Path::new("/usr/lib/gcc"), "")
        .iter()
        .flat_map(|target| entries(target, ""))
        .filter(|version| version.join("include/stddef.h").is_file())
        .max_by_key(|version| number_behind(&format!("/{}", name_of(version)), "/"))
        .map(|version| version.join("include"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_paths() {
        for (path, version) in [
            ("/usr/lib/llvm-19/lib/libclang-19.so.1", 19),
            ("/usr/lib/llvm-16/lib/libclang.so.1", 16),
            ("/usr/lib/x86_64-linux-gnu/libclang-14.so.13", 14),
            ("/usr/lib64/libclang.so.18.1", 18),
            ("/usr/lib64/llvm17/lib/libclang.so", 17),
            ("/opt/libclang.so", 0),
        ] {
            assert_eq!(version_in(Path::new(path)), version, "{path}");
        }
        assert_eq!(major("Debian clang version 19.1.7 (3+b1)"), 19);
        assert_eq!(major("nonsense"), 0);
    }

    #[test]
    fn candidates_are_real_newest_first_and_not_the_cpp_library() {
        let installed = folders().iter().flat_map(|f| libraries_in(f)).collect();
        let found = newest_first(installed);
        assert!(!found.is_empty());
        let versions: Vec<u32> = found.iter().map(|path| version_in(path)).collect();
        assert!(versions.is_sorted_by(|a, b| a >= b), "{found:?}");
        for path in &found {
            assert!(path.is_file() && !name_of(path).contains("cpp"), "{path:?}");
        }
    }

    #[test]
    fn without_clangs_own_headers_those_of_gcc_are_used() {
        let flags = header_flags(Path::new("/nowhere/libclang.so"), 999);
        let text: Vec<_> = flags.iter().map(|flag| flag.to_string_lossy()).collect();
        assert_eq!(text[0], "-isystem");
        assert!(Path::new(&*text[1]).join("stddef.h").is_file());
    }
}

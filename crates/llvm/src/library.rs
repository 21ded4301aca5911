//! A libLLVM on this machine: found by version or given by path, read but not loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::elf::Elf;
use crate::hooks::{Target, resolve};
use crate::{Error, Svma};

/// A libLLVM that can be watched.
#[derive(Clone, Debug)]
pub struct Library {
    /// The file.
    pub path: PathBuf,
    /// Major version.
    pub version: u32,
    /// What its file says.
    pub elf: Elf,
    /// The functions to watch, with where they are.
    pub targets: Vec<Target>,
}

/// Where distributions and llvm.org's packages put it. `{}` is the version.
const PLACES: [&str; 5] = [
    "/usr/lib/llvm-{}/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64/llvm{}/lib",
    "/usr/lib64",
    "/usr/local/lib",
];

const VERSIONS: std::ops::RangeInclusive<u32> = 14..=40;

impl Library {
    /// The installed libraries, one file per major version.
    pub fn installed() -> BTreeMap<u32, PathBuf> {
        let mut found = BTreeMap::new();
        for version in VERSIONS {
            let names = [
                format!("libLLVM-{version}.so.1"),
                format!("libLLVM.so.{version}.1"),
                format!("libLLVM-{version}.so"),
                format!("libLLVM.so.{version}"),
            ];
            let candidate = PLACES
                .iter()
                .flat_map(|place| {
                    let place = PathBuf::from(place.replace("{}", &version.to_string()));
                    names.iter().map(move |name| place.join(name))
                })
                .find(|path| path.is_file());
            if let Some(path) = candidate {
                found.insert(version, path);
            }
        }
        found
    }

    /// The installed libraries, and for other versions those that `scripts/llvm-library.sh` put below `fetched`, as
    /// `llvm-23/libLLVM.so`.
    pub fn available(fetched: &Path) -> BTreeMap<u32, PathBuf> {
        let mut found = Self::installed();
        for version in VERSIONS {
            let path = fetched.join(format!("llvm-{version}/libLLVM.so"));
            if path.is_file() {
                found.entry(version).or_insert(path);
            }
        }
        found
    }

    /// The installed library of `version`.
    pub fn find(version: u32) -> Result<Self, Error> {
        Self::find_among(version, &Self::installed())
    }

    /// The library of `version`, of those available.
    pub fn find_among(version: u32, available: &BTreeMap<u32, PathBuf>) -> Result<Self, Error> {
        match available.get(&version) {
            Some(path) => Self::open(path),
            None => Err(Error::NotInstalled {
                wanted: version,
                found: versions(available),
            }),
        }
    }

    /// The library in `path`.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let path = std::fs::canonicalize(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        let elf = Elf::read(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(version) = version_in(&elf.soname).or_else(|| version_in(&name)) else {
            return Err(Error::UnknownVersion {
                soname: elf.soname,
                path,
            });
        };
        let targets = resolve(&elf).map_err(|missing| Error::MissingSymbols {
            path: path.clone(),
            version,
            missing,
        })?;
        Ok(Library {
            path,
            version,
            elf,
            targets,
        })
    }

    /// The loader and the folder of libraries that came with a fetched library: what wants a newer libc cannot be loaded
    /// into a process that started with an older one.
    pub fn loader(&self) -> Option<(PathBuf, PathBuf)> {
        let root = self.path.parent()?.parent()?.join("root/usr");
        let loader = root.join("lib64/ld-linux-x86-64.so.2");
        let libraries = root.join("lib/x86_64-linux-gnu");
        (loader.is_file() && libraries.is_dir()).then_some((loader, libraries))
    }

    /// Where the function that gives away the load address is.
    pub(crate) fn anchor(&self) -> Option<Svma> {
        self.elf
            .exported
            .iter()
            .find(|one| &*one.name == ANCHOR)
            .map(|one| one.start)
    }

    /// Where the `-dev` package keeps the static archives the library was linked from.
    pub fn archives(&self) -> Option<PathBuf> {
        let beside = self.path.parent().map(Path::to_owned);
        let versioned = PathBuf::from(format!("/usr/lib/llvm-{}/lib", self.version));
        beside
            .into_iter()
            .chain([versioned])
            .find(|place| place.join("libLLVMCore.a").is_file())
    }
}

/// `14, 16, 19`, or `none`.
pub fn versions(available: &BTreeMap<u32, PathBuf>) -> String {
    let all: Vec<String> = available.keys().map(ToString::to_string).collect();
    match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    }
}

/// A C function present in every version; its address in the process minus the one in the file is
/// where the library was loaded.
pub(crate) const ANCHOR: &str = "LLVMContextCreate";

/// `libLLVM-16.so.1` → 16, `libLLVM.so.19.1` → 19, `libLLVM.so.22.1-rust-1.95.0-stable` → 22.
fn version_in(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("libLLVM")?;
    let digits: String = rest
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok().filter(|version| *version >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        assert_eq!(version_in("libLLVM-16.so.1"), Some(16));
        assert_eq!(version_in("libLLVM.so.19.1"), Some(19));
        assert_eq!(version_in("libLLVM.so.22.1-rust-1.95.0-stable"), Some(22));
        assert_eq!(version_in("libLLVM.so"), None);
        assert_eq!(version_in("libc.so.6"), None);
    }

    #[test]
    fn debian_s_libraries_are_found_and_can_be_watched() {
        let installed = Library::installed();
        for version in [14, 15, 16, 19] {
            assert!(installed.contains_key(&version), "{installed:?}");
            let library = Library::find(version).unwrap();
            assert_eq!(library.version, version);
            assert!(library.elf.extents.len() > library.elf.exported.len());
            assert_eq!(library.elf.build_id.len(), 40);
        }
    }

    #[test]
    fn a_version_that_is_not_there_is_named_with_those_that_are() {
        let error = Library::find(3).unwrap_err().to_string();
        assert!(
            error.contains("libLLVM 3") && error.contains("16"),
            "{error}"
        );
    }

    #[test]
    fn fetched_libraries_fill_gaps_and_bring_their_loader() {
        let directory = tempfile::tempdir().unwrap();
        for version in [19, 39] {
            let place = directory.path().join(format!("llvm-{version}"));
            let root = place.join("root/usr");
            std::fs::create_dir_all(place.join("lib")).unwrap();
            std::fs::create_dir_all(root.join("lib64")).unwrap();
            std::fs::create_dir_all(root.join("lib/x86_64-linux-gnu")).unwrap();
            std::fs::write(root.join("lib64/ld-linux-x86-64.so.2"), "").unwrap();
            let real = &Library::installed()[&19];
            let real = std::fs::canonicalize(real).unwrap();
            std::os::unix::fs::symlink(real, place.join("libLLVM.so")).unwrap();
        }
        let available = Library::available(directory.path());
        assert_eq!(available[&19], Library::installed()[&19]);
        assert_eq!(available[&39], directory.path().join("llvm-39/libLLVM.so"));
        let mut library = Library::find_among(19, &available).unwrap();
        assert_eq!(library.loader(), None);
        library.path = directory.path().join("llvm-39/lib/libLLVM.so.39.1");
        let (loader, libraries) = library.loader().unwrap();
        assert!(loader.is_file() && libraries.is_dir());
    }

    #[test]
    fn other_libraries_are_refused() {
        let error = Library::open(Path::new("/lib/x86_64-linux-gnu/libc.so.6")).unwrap_err();
        assert!(error.to_string().contains("which LLVM it is"), "{error}");
        let error = Library::open(Path::new("/etc/passwd")).unwrap_err();
        assert!(
            error.to_string().contains("not an x86-64 shared library"),
            "{error}"
        );
        // A libLLVM by name without LLVM's symbols: the list of what is missing, not a crash.
        let directory = tempfile::tempdir().unwrap();
        let fake = directory.path().join("libLLVM-16.so.1");
        std::fs::copy("/lib/x86_64-linux-gnu/libm.so.6", &fake).unwrap();
        let error = Library::open(&fake).unwrap_err();
        assert!(matches!(
            error,
            Error::UnknownVersion { .. } | Error::MissingSymbols { .. }
        ));
        let text = error.to_string();
        assert!(text.contains("libLLVM"), "{text}");
    }
}

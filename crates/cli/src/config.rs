//! `candor.toml`: what is typed often. Flags win over it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};

/// Settings of one candor.toml; every one optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `cc = ["gcc-12", "wrapper clang-19"]`: compilers instead of every one found.
    pub compilers: Vec<String>,
    /// `levels = ["-O2", "-O3"]`.
    pub levels: Vec<String>,
    /// `jobs = 2`.
    pub jobs: Option<usize>,
    /// `timeout = 5` (seconds) for one run of a program.
    pub timeout: Option<Duration>,
    /// `scratch = "/fast/disk"`.
    pub scratch: Option<PathBuf>,
    /// `libclang = "/usr/lib/llvm-19/lib/libclang.so"`.
    pub libclang: Option<PathBuf>,
}

const KEYS: [&str; 6] = ["cc", "levels", "jobs", "timeout", "scratch", "libclang"];

impl Config {
    /// The candor.toml in `directory` or the nearest one above; none is fine.
    pub fn find(directory: &Path) -> anyhow::Result<Self> {
        for candidate in directory.ancestors().map(|above| above.join("candor.toml")) {
            match std::fs::read_to_string(&candidate) {
                Ok(text) => {
                    return Self::parse(&text)
                        .with_context(|| format!("in {}", candidate.display()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot read {}", candidate.display()));
                }
            }
        }
        Ok(Config::default())
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let table: toml::Table = text.parse()?;
        let mut config = Config::default();
        for (key, value) in &table {
            match key.as_str() {
                "cc" => config.compilers = strings(key, value)?,
                "levels" => config.levels = strings(key, value)?,
                "jobs" => config.jobs = Some(usize::try_from(positive(key, value)?)?),
                "timeout" => config.timeout = Some(Duration::from_secs(positive(key, value)?)),
                "scratch" => config.scratch = Some(string(key, value)?.into()),
                "libclang" => config.libclang = Some(string(key, value)?.into()),
                unknown => bail!("unknown key `{unknown}`; {}", suggestion(unknown)),
            }
        }
        Ok(config)
    }
}

fn suggestion(unknown: &str) -> String {
    let nearest = KEYS
        .iter()
        .min_by_key(|known| strsim::damerau_levenshtein(unknown, known))
        .filter(|known| strsim::damerau_levenshtein(unknown, known) <= 3);
    match nearest {
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("known keys: {}", KEYS.join(", ")),
    }
}

fn string(key: &str, value: &toml::Value) -> anyhow::Result<String> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => bail!("`{key}` should be a string, e.g. {key} = \"...\""),
    }
}

fn strings(key: &str, value: &toml::Value) -> anyhow::Result<Vec<String>> {
    let Some(array) = value.as_array() else {
        bail!("`{key}` should be a list of strings, e.g. {key} = [\"...\"]");
    };
    array.iter().map(|value| string(key, value)).collect()
}

fn positive(key: &str, value: &toml::Value) -> anyhow::Result<u64> {
    match value.as_integer().map(u64::try_from) {
        Some(Ok(number)) if number > 0 => Ok(number),
        _ => bail!("`{key}` should be a whole number above 0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read() {
        let config = Config::parse(
            "cc = [\"gcc-12\", \"w clang-19\"]\nlevels = [\"-O2\"]\njobs = 2\ntimeout = 7\n",
        )
        .unwrap();
        assert_eq!(config.compilers, ["gcc-12", "w clang-19"]);
        assert_eq!(config.levels, ["-O2"]);
        assert_eq!(config.jobs, Some(2));
        assert_eq!(config.timeout, Some(Duration::from_secs(7)));
    }

    #[test]
    fn mistakes_are_named_with_the_nearest_key() {
        let error = |text: &str| Config::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("timeot = 3"),
            "unknown key `timeot`; did you mean `timeout`?"
        );
        assert!(error("colour_of_the_sky = 1").contains("known keys: cc, levels"));
        assert!(error("jobs = 0").contains("above 0"));
        assert!(error("cc = \"gcc\"").contains("list of strings"));
        assert!(error("jobs = ").contains("TOML parse error"));
    }

    #[test]
    fn the_nearest_file_upwards_counts() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(top.path().join("candor.toml"), "jobs = 1").unwrap();
        assert_eq!(Config::find(&below).unwrap().jobs, Some(1));
        std::fs::write(top.path().join("a/candor.toml"), "jobs = 2").unwrap();
        assert_eq!(Config::find(&below).unwrap().jobs, Some(2));
        std::fs::write(below.join("candor.toml"), "job = 2").unwrap();
        let error = format!("{:#}", Config::find(&below).unwrap_err());
        assert!(error.contains("candor.toml") && error.contains("did you mean `jobs`?"));
    }
}

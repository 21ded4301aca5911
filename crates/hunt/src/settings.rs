//! What a campaign is (kept in the store, the same for every worker) and what one run of it is given.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::oracle::Oracle;

/// Where new programs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// Csmith, with options chosen by the seed.
    Csmith,
    /// Nowhere: the corpus is all there is.
    None,
}

impl Generator {
    /// From its name.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "csmith" => Ok(Generator::Csmith),
            "none" => Ok(Generator::None),
            other => Err(Error::BadSetting {
                what: format!("no generator is called `{other}`; there are: csmith, none"),
            }),
        }
    }
}

/// One part of the seeds: those that leave `index` when divided by `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// From 0.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

impl Shard {
    /// The only one.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// From `i/n`, i from 1.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::BadSetting {
            what: format!(
                "a shard is given as I/N with 1 <= I <= N, 3/16 for example; got `{text}`"
            ),
        };
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let index: u64 = index.parse().map_err(|_| bad())?;
        let count: u64 = count.parse().map_err(|_| bad())?;
        if index == 0 || index > count {
            return Err(bad());
        }
        Ok(Shard {
            index: index - 1,
            count,
        })
    }
}

/// A compiler under test, as the campaign remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tested {
    /// Its command.
    pub command: String,
    /// Whose it is.
    pub family: String,
    /// Its release.
    pub version: String,
}

/// What `examples/debug_variants.rs` found to be worth its time (docs/hunt.md).
fn two() -> u64 {
    2
}

/// What a campaign is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Where new programs come from.
    pub generator: Generator,
    /// The generator's release, in its own words: a seed means nothing without it.
    #[serde(default)]
    pub generator_version: String,
    /// Folders of programs to begin with.
    pub corpus: Vec<PathBuf>,
    /// Variants of each program.
    pub variants: u64,
    /// So many of them are looked at by the debug oracle; the seed itself always is.
    #[serde(default = "two")]
    pub debug_variants: u64,
    /// Optimisation levels, each one or more flags.
    pub levels: Vec<String>,
    /// What is looked at.
    pub oracles: BTreeSet<Oracle>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds; `None` for no end.
    pub seeds: Option<u64>,
    /// Which part of them.
    pub shard: Shard,
    /// The compilers under test.
    pub compilers: Vec<Tested>,
    /// Seconds one run of a program may take.
    pub run_seconds: u64,
    /// Seconds of CPU time after which a compiler is said to hang.
    pub compile_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            generator: Generator::Csmith,
            generator_version: String::new(),
            corpus: Vec::new(),
            // Gate and profile of a seed cost as much as sixteen builds: with fewer variants they are more than a tenth.
            variants: 8,
            debug_variants: two(),
            levels: ["-O0", "-Og", "-O1", "-Os", "-O2", "-O3"]
                .map(String::from)
                .to_vec(),
            oracles: Oracle::ALL.into_iter().collect(),
            seed: 1,
            seeds: None,
            shard: Shard::WHOLE,
            compilers: Vec::new(),
            run_seconds: 5,
            compile_seconds: 30,
        }
    }
}

impl Settings {
    /// For one run of a program.
    #[must_use]
    pub fn run_time(&self) -> Duration {
        Duration::from_secs(self.run_seconds.max(1))
    }

    /// CPU time of one compiler call.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        Duration::from_secs(self.compile_seconds.max(1))
    }

    /// Whether `oracle` looks.
    #[must_use]
    pub fn looks(&self, oracle: Oracle) -> bool {
        self.oracles.contains(&oracle)
    }

    /// Whether plain builds are made (the debug oracle makes its own).
    #[must_use]
    pub fn builds_plainly(&self) -> bool {
        [Oracle::Output, Oracle::Crash, Oracle::Hang]
            .into_iter()
            .any(|oracle| self.looks(oracle))
    }

    /// Refuses what makes no sense.
    pub fn validate(&self) -> Result<(), Error> {
        let bad = |what: &str| {
            Err(Error::BadSetting {
                what: what.to_owned(),
            })
        };
        if self.oracles.is_empty() {
            return bad(
                "no oracle is left to look; give --oracles output,crash,hang,debug or some of them",
            );
        }
        if self.generator == Generator::None && self.corpus.is_empty() {
            return bad("there are no programs: give --corpus DIR, or --generator csmith");
        }
        if self.levels.is_empty() {
            return bad("no optimisation level was given; -O2 is one");
        }
        if let Some(level) = self.levels.iter().find(|level| !level.starts_with('-')) {
            return Err(Error::BadSetting {
                what: format!("a level is one or more flags such as -O2; got `{level}`"),
            });
        }
        if self
            .seed
            .checked_add(self.seeds.unwrap_or(0))
            .is_none_or(|last| last > 1 << 62)
        {
            return bad("seeds go up to 2^62; give a smaller --seed");
        }
        Ok(())
    }

    /// Refuses what a campaign of somebody else's could do to this machine by its settings: levels are handed to
    /// compilers, and some flags name files and programs.
    pub fn validate_untrusted(&self) -> Result<(), Error> {
        self.validate()?;
        for flag in self
            .levels
            .iter()
            .flat_map(|level| level.split_whitespace())
        {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,".contains(c);
            let begins = ["-O", "-f", "-m", "-g", "-std="];
            let known = begins.iter().any(|begin| flag.starts_with(begin));
            if !known || !flag.chars().all(plain) || flag.starts_with("-fplugin") {
                return Err(Error::BadSetting {
                    what: format!(
                        "the campaign compiles with `{flag}`; a worker takes levels of -O, -f, -m, -g and -std= flags only"
                    ),
                });
            }
        }
        let sane = self.variants <= 10_000 && self.run_seconds <= 3_600;
        if !sane || self.compile_seconds > 86_400 || self.compilers.len() > 1_000 {
            return Err(Error::BadSetting {
                what: "the campaign's numbers (variants, seconds, compilers) are beyond all bounds"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// How `other` differs in what must be the same for all workers, as text; compilers may come and go, and the
    /// number of seeds may grow.
    #[must_use]
    pub fn differences(&self, other: &Settings) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |name: &str, ours: String, theirs: String| {
            if ours != theirs {
                differences.push(format!("{name}: {ours}, not {theirs}"));
            }
        };
        compare(
            "generator",
            format!("{:?}", self.generator).to_lowercase(),
            format!("{:?}", other.generator).to_lowercase(),
        );
        compare(
            "corpus",
            format!("{:?}", self.corpus),
            format!("{:?}", other.corpus),
        );
        compare(
            "variants",
            self.variants.to_string(),
            other.variants.to_string(),
        );
        compare("levels", self.levels.join(" "), other.levels.join(" "));
        let oracles = |settings: &Settings| {
            let names: Vec<&str> = settings
                .oracles
                .iter()
                .map(|oracle| oracle.name())
                .collect();
            names.join(",")
        };
        compare("oracles", oracles(self), oracles(other));
        compare("seed", self.seed.to_string(), other.seed.to_string());
        differences
    }
}

/// What one process is given for its part of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Programs judged at a time.
    pub jobs: usize,
    /// When to end; `None`: when all seeds are judged, or at Ctrl-C.
    pub time: Option<Duration>,
    /// What findings under way are given after that to be reduced and isolated.
    pub grace: Duration,
    /// Largest share of the threads' time that reducing and isolating takes while seeds are left.
    pub share: f64,
    /// Time one reduction may take.
    pub reduction: Duration,
    /// Go on with the store's campaign; settings that are given win over its.
    pub resume: bool,
}

impl Run {
    /// What is left until everything ends, grace included; `None`: there is no end.
    #[must_use]
    pub fn left(&self, elapsed: Duration) -> Option<Duration> {
        self.time
            .map(|time| (time + self.grace).saturating_sub(elapsed))
    }
}

impl Default for Run {
    fn default() -> Self {
        Run {
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            time: None,
            grace: Duration::ZERO,
            share: 0.25,
            reduction: Duration::from_secs(300),
            resume: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_one_and_must_fit() {
        assert_eq!(Shard::parse("1/1").unwrap(), Shard::WHOLE);
        assert_eq!(
            Shard::parse("3/16").unwrap(),
            Shard {
                index: 2,
                count: 16
            }
        );
        for bad in ["0/4", "5/4", "x/4", "4", "1/"] {
            let error = Shard::parse(bad).unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }

    #[test]
    fn settings_survive_the_store_and_nonsense_is_refused() {
        let settings = Settings::default();
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        settings.validate().unwrap();
        let refused = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.validate().unwrap_err().to_string()
        };
        assert!(refused(|s| s.generator = Generator::None).contains("--corpus"));
        assert!(refused(|s| s.oracles.clear()).contains("--oracles"));
        assert!(refused(|s| s.levels = vec!["2".into()]).contains("got `2`"));
        assert!(refused(|s| s.seed = u64::MAX).contains("--seed"));
    }

    #[test]
    fn a_campaign_of_somebody_elses_cannot_name_files_or_programs() {
        let with = |level: &str| Settings {
            levels: vec![level.to_owned()],
            ..Settings::default()
        };
        for good in ["-O2", "-O2 -fno-inline -march=x86-64-v3", "-Og -gdwarf-5"] {
            with(good).validate_untrusted().unwrap();
        }
        for bad in [
            "-O2 -fplugin=x.so",
            "-O2 -B/tmp",
            "-O2 -wrapper x",
            "-O2 @/etc/passwd",
            "-O2 -fprofile-use=/x",
        ] {
            let error = with(bad).validate_untrusted().unwrap_err().to_string();
            assert!(error.contains("flags only"), "{error}");
        }
    }

    #[test]
    fn differences_name_both_sides() {
        let ours = Settings::default();
        let theirs = Settings {
            variants: 9,
            seeds: Some(3),
            ..Settings::default()
        };
        assert_eq!(ours.differences(&theirs), ["variants: 8, not 9"]);
    }
}

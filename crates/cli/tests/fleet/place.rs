//! A folder with compilers, a corpus, a scratch folder and a place for stores.
//!
//! The compiler is real but for planted crashes: its wrapper crashes at -O2 at the site that the program names. So
//! every program has exactly one finding of a signature known beforehand, found in a second.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use candor_store::Store;

pub struct Place {
    folder: tempfile::TempDir,
}

/// Crashes where the program says; the compiler's own words decide the signature.
const COMPILER: &str = r#"#!/bin/sh
LEVEL= SITE=
for a in "$@"; do
  case $a in
    -O2) LEVEL=2;;
    *.c) if [ -f "$a" ]; then while read -r line; do case $line in *SITE*) SITE=${line#*SITE };; esac; done <"$a"; fi;;
  esac
done
if [ -n "$LEVEL" ] && [ -n "$SITE" ]; then
  echo "internal compiler error: in $SITE, at planted.cc:1" >&2
  exit 4
fi
exec gcc-12 "$@"
"#;

impl Place {
    /// Programs whose crashes are at `sites` different places.
    pub fn new(programs: usize, sites: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder };
        for name in ["bin", "corpus", "scratch"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        // A short PATH makes a short start: one compiler of each family.
        for tool in [
            "gcc-12", "clang-19", "as", "ld", "ld.gold", "sh", "cat", "csmith",
        ] {
            let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .map(|directory| directory.join(tool))
                .find(|path| path.exists())
                .unwrap_or_else(|| panic!("{tool} is installed by scripts/install.sh"));
            symlink(real.canonicalize().unwrap(), place.path("bin").join(tool)).unwrap();
        }
        let compiler = place.path("bin").join("planted-cc");
        std::fs::write(&compiler, COMPILER).unwrap();
        std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
        for number in 0..programs {
            let site = number % sites;
            std::fs::write(
                place.path("corpus").join(format!("p{number:03}.c")),
                format!(
                    "// SITE fold_{site}\n#include <stdio.h>\nint main(void) {{\n  printf(\"%d\\n\", {number});\n  return 0;\n}}\n"
                ),
            )
            .unwrap();
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn candor(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command
            .env("PATH", self.path("bin"))
            .env("CANDOR_SCRATCH", self.path("scratch"))
            .current_dir(self.folder.path());
        command
    }

    /// A hunt over the corpus (and, with `seeds`, so many of Csmith's) that leaves findings as they are.
    pub fn hunt(&self, seeds: u64) -> Command {
        let mut command = self.candor();
        command
            .args(["hunt", "--corpus", "corpus", "--cc", "planted-cc"])
            .args(["-O0", "-O2", "--oracles", "crash,output"])
            .args(["--variants", "0", "--share", "0", "--jobs", "2"]);
        if seeds == 0 {
            command.args(["--generator", "none"]);
        } else {
            command.args(["--seeds", &seeds.to_string()]);
        }
        command
    }
}

/// Signatures, finished seeds, findings, builds: what must not depend on who hunted, or in how many parts.
pub fn essence(store: &dyn Store) -> (BTreeSet<String>, u64, BTreeSet<String>, u64) {
    let findings = store.findings().unwrap();
    let seeds = store.seeds().unwrap();
    let samples = store.samples().unwrap().samples;
    let builds = samples.iter().filter(|s| s.metric.name() == "builds");
    (
        findings.iter().map(|f| f.signature.0.clone()).collect(),
        seeds.judged + seeds.rejected,
        findings.iter().map(|f| f.id.0.clone()).collect(),
        builds.map(|s| s.count).sum(),
    )
}

//! `candor hunt` under attack: killed, interrupted, two at once, a full disk, a damaged store, a compiler that vanishes.
//!
//! The compilers are real but for a planted bug: a wrapper defines PLANTED at one level, and the programs of the corpus
//! print something else then. So every program has exactly one finding, found in a second.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use candor_store::{SqliteStore, State, Store};
use serde_json::Value;

/// A folder with compilers, a corpus, a scratch folder and a place for stores.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(programs: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder };
        for name in ["bin", "corpus", "scratch"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        // A short PATH makes a short start: one compiler of each family.
        for tool in [
            "gcc-12", "clang-19", "as", "ld", "ld.gold", "gdb", "sh", "cat", "csmith", "tcc",
        ] {
            let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .map(|directory| directory.join(tool))
                .find(|path| path.exists())
                .unwrap_or_else(|| panic!("{tool} is installed by scripts/install.sh"));
            symlink(real.canonicalize().unwrap(), place.path("bin").join(tool)).unwrap();
        }
        place.script("planted-cc", "exec gcc-12 $PLANT \"$@\"");
        for number in 0..programs {
            std::fs::write(
                place.path("corpus").join(format!("p{number:03}.c")),
                format!(
                    "#include <stdio.h>\nint main(void) {{\n  int sum = {number};\n  for (int i = 0; i < 9; i++)\n    sum += i;\n\
                     #ifdef PLANTED\n  sum++;\n#endif\n  printf(\"%d\\n\", sum);\n  return 0;\n}}\n"
                ),
            )
            .unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A compiler: `$PLANT` is `-DPLANTED` when it optimises.
    fn script(&self, name: &str, exec: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        let text = format!(
            "#!/bin/sh\nPLANT=\nfor a in \"$@\"; do case $a in -O2) PLANT=-DPLANTED;; esac; done\n{exec}\n"
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn candor(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command
            .env("PATH", self.path("bin"))
            .env("CANDOR_SCRATCH", self.path("scratch"))
            .current_dir(self.folder.path());
        command
    }

    fn hunt(&self, store: &str) -> Command {
        let mut command = self.candor();
        command
            .args([
                "hunt",
                "--store",
                store,
                "--generator",
                "none",
                "--corpus",
                "corpus",
            ])
            .args([
                "--cc",
                "planted-cc",
                "-O0",
                "-O2",
                "--oracles",
                "output,crash",
            ])
            .args(["--variants", "0", "--for", "30m"]);
        command
    }

    /// A hunt that leaves findings as they were found.
    fn search(&self, store: &str) -> Command {
        let mut command = self.hunt(store);
        command.args(["--share", "0"]);
        command
    }

    fn scratch_is_empty(&self) -> bool {
        self.path("scratch").read_dir().unwrap().count() == 0
    }

    fn store(&self, name: &str) -> SqliteStore {
        SqliteStore::open(&self.path(name)).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn events(output: &[u8]) -> Vec<Value> {
    let lines = text(output);
    let lines = lines.lines().filter(|line| line.ends_with('}'));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .collect()
}

fn ids(events: &[Value]) -> BTreeSet<String> {
    let found = named(events, "found");
    found
        .iter()
        .map(|event| event["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The findings of a store by name; panics if a program has two.
fn stored(store: &SqliteStore) -> BTreeSet<String> {
    let findings = store.findings().unwrap();
    let streams: BTreeSet<_> = findings
        .iter()
        .map(|finding| finding.stream.0.clone())
        .collect();
    assert_eq!(
        streams.len(),
        findings.len(),
        "a program's finding is stored twice"
    );
    findings.into_iter().map(|finding| finding.id.0).collect()
}

fn spawn(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn planted_wrong_code_is_found_reduced_isolated_and_shown_again_by_its_replay() {
    let place = Place::new(1);
    // found by one hunt, which says that it waits; the next goes on with it
    let output = place.search("store").output().unwrap();
    let first = events(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let found = named(&first, "found");
    assert_eq!(found.len(), 1, "{first:?}");
    assert_eq!(found[0]["kind"], "miscompilation");
    assert_eq!(found[0]["level"], "-O2");
    assert_eq!(named(&first, "ended")[0]["waiting"], 1);
    let output = place
        .candor()
        .args(["hunt", "--store", "store", "--resume", "--share", "1"])
        .output()
        .unwrap();
    let second = events(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let improved = named(&second, "improved");
    assert_eq!(improved.len(), 1, "{}", text(&output.stdout));
    assert_eq!(named(&second, "ended")[0]["waiting"], 0);
    let store = place.store("store");
    let group = &store.groups().unwrap()[0];
    assert!(group.representative.state >= State::Reduced);
    let reduced = store
        .case(group.representative.reduced.as_ref().unwrap())
        .unwrap();
    let reduced = reduced["program"]["text"].as_str().unwrap().to_owned();
    assert!(
        reduced.contains("PLANTED") && reduced.len() < 150,
        "{reduced}"
    );
    assert!(group.representative.exhibit.is_some());
    assert!(place.scratch_is_empty());

    let replay = found[0]["replay"].as_str().unwrap();
    let words = replay
        .strip_prefix("candor ")
        .unwrap()
        .replace("$(mktemp -d)", "again");
    let again = place
        .candor()
        .args(words.replace('"', "").split_whitespace())
        .args(["--share", "0"])
        .output()
        .unwrap();
    assert_eq!(
        again.status.code(),
        Some(1),
        "{replay}: {}",
        text(&again.stderr)
    );
    assert_eq!(stored(&place.store("again")), stored(&store));
}

/// A finding of the compiler's own, from the search to its culprit in one hunt, and what the report says of it.
#[test]
fn a_real_finding_is_reduced_and_isolated_within_the_hunt() {
    let place = Place::new(0);
    let case =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/check/found/empty_loop_removed.c");
    std::fs::copy(case, place.path("corpus").join("loop.c")).unwrap();
    let output = place
        .candor()
        .args(["hunt", "--store", "store", "--generator", "none"])
        .args(["--corpus", "corpus", "--cc", "gcc-12", "-O2"])
        .args(["--oracles", "debug", "--variants", "0"])
        .output()
        .unwrap();
    let events = events(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let improved = named(&events, "improved");
    assert_eq!(improved.len(), 1, "{}", text(&output.stdout));
    assert_eq!(improved[0]["state"], "isolated");
    let culprit = improved[0]["culprit"].as_str().unwrap();
    assert!(culprit.contains("dce"), "{culprit}");
    let group = &place.store("store").groups().unwrap()[0];
    assert_eq!(group.key, format!("wrong-value | gcc | {culprit}"));
    assert!(group.representative.exhibit.is_some());
    let report = place
        .candor()
        .args(["report", "--store", "store"])
        .output()
        .unwrap();
    let words = text(&report.stdout);
    let named = |line: &str| {
        line.contains(&format!("pass {culprit}")) && line.ends_with("reduced and isolated")
    };
    assert!(words.lines().any(named), "{words}");
    assert!(place.scratch_is_empty());
}

#[test]
fn killed_twenty_times_nothing_is_lost_and_nothing_is_twice() {
    const SEED: u64 = 7;
    // As many as the kills leave something to do for, and no more: each is judged twice.
    let programs = 12;
    let place = Place::new(programs);
    let whole = place.search("whole").output().unwrap();
    assert_eq!(whole.status.code(), Some(1), "{}", text(&whole.stderr));
    let expected = stored(&place.store("whole"));
    assert_eq!(expected.len(), programs);

    let mut random = fastrand::Rng::with_seed(SEED);
    let mut said = BTreeSet::new();
    let mut kills = 0;
    while kills < 20 {
        let mut child = spawn(&mut place.search("store"));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Some are killed while they get ready, most while they judge.
        let lines_wanted = random.usize(0..4);
        let delay = Duration::from_millis(random.u64(0..300));
        let mut output = String::new();
        for _ in 0..lines_wanted {
            match lines.next() {
                Some(line) => output += &(line.unwrap() + "\n"),
                None => break,
            }
        }
        std::thread::sleep(delay);
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        for line in lines {
            output += &(line.unwrap() + "\n");
        }
        child.wait().unwrap();
        said.extend(ids(&events(output.as_bytes())));
        kills += 1;
        let known = if place.path("store").join("candor.db").exists() {
            stored(&place.store("store"))
        } else {
            BTreeSet::new()
        };
        assert!(
            said.is_subset(&known),
            "kill {kills} of seed {SEED}: lost {:?}",
            said.difference(&known)
        );
        // When all is judged there is nothing left to interrupt; the rest of the kills meet an idle hunt.
        assert!(ended.is_none() || known == expected);
    }
    let rest = place
        .candor()
        .args(["hunt", "--store", "store", "--resume", "--share", "0"])
        .output()
        .unwrap();
    assert_eq!(rest.status.code(), Some(1), "{}", text(&rest.stderr));
    assert_eq!(stored(&place.store("store")), expected, "seed {SEED}");
    assert_eq!(place.store("store").seeds().unwrap().leased, 0);
    assert!(place.scratch_is_empty(), "what killed hunts left is swept");
}

#[test]
fn ctrl_c_keeps_what_was_found_and_leaves_nothing_behind() {
    let place = Place::new(12);
    let mut child = spawn(&mut place.search("store"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines.by_ref() {
        seen.push(serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        if ids(&seen).len() >= 2 {
            break;
        }
    }
    let signal = nix::sys::signal::Signal::SIGINT;
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
    for line in lines {
        seen.push(serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(named(&seen, "ended").len(), 1, "it says goodbye");
    assert!(place.scratch_is_empty());
    let store = place.store("store");
    assert_eq!(stored(&store), ids(&seen));
    assert!(store.workers().unwrap().iter().all(|worker| !worker.alive));
    let status = store.seeds().unwrap();
    assert!(status.judged < 12, "it was interrupted: {status:?}");
}

#[test]
fn two_hunts_on_one_store_share_the_work() {
    let programs = 16;
    let place = Place::new(programs);
    let hunts: Vec<Child> = (0..2)
        .map(|_| spawn(place.search("store").args(["--jobs", "1"])))
        .collect();
    let outputs: Vec<Output> = hunts
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    let mut judged: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_each = Vec::new();
    for output in &outputs {
        assert!(
            output.status.success() || output.status.code() == Some(1),
            "{}",
            text(&output.stderr)
        );
        let events = events(&output.stdout);
        by_each.push(named(&events, "judged").len());
        for event in named(&events, "judged") {
            *judged.entry(event["stream"].to_string()).or_default() += 1;
        }
    }
    assert_eq!(judged.len(), programs);
    assert!(judged.values().all(|times| *times == 1), "{judged:?}");
    assert!(
        by_each.iter().all(|count| *count > 0),
        "both work: {by_each:?}"
    );
    assert_eq!(stored(&place.store("store")).len(), programs);
    assert!(place.scratch_is_empty());

    let other = place.search("store").args(["-O3"]).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    let words = text(&other.stderr);
    assert!(
        words.contains("levels: -O0 -O2, not -O0 -O2 -O3"),
        "{words}"
    );
}

#[test]
fn a_compiler_that_vanishes_is_reported_and_left_out() {
    let place = Place::new(8);
    let doomed = place.script("doomed-cc", "exec gcc-12 \"$@\"");
    let mut hunt = place.search("store");
    hunt.args(["--cc", "doomed-cc", "--jobs", "1"]);
    let mut child = spawn(&mut hunt);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines.by_ref() {
        seen.push(serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        if named(&seen, "judged").len() == 2 {
            std::fs::remove_file(&doomed).unwrap();
            break;
        }
    }
    for line in lines {
        seen.push(serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let gone = named(&seen, "compiler-gone");
    assert_eq!(gone.len(), 1, "{seen:?}");
    assert_eq!(gone[0]["compiler"], "doomed-cc");
    assert_eq!(named(&seen, "judged").len(), 8, "the hunt goes on");
    let last = named(&seen, "judged").pop().unwrap().clone();
    assert_eq!(last["builds"], 2, "with the other compiler alone");
    let store = place.store("store");
    assert_eq!(stored(&store).len(), 8);
    let noted = store.events(0, 1000).unwrap();
    assert!(noted.iter().any(|event| event.kind == "compiler-gone"));

    // the only one that is left
    let alone = place.script("doomed-cc", "exec gcc-12 \"$@\"");
    let mut hunt = place.candor();
    hunt.args([
        "hunt",
        "--store",
        "other",
        "--generator",
        "none",
        "--corpus",
        "corpus",
    ])
    .args([
        "--cc",
        "doomed-cc",
        "-O0",
        "--oracles",
        "output",
        "--variants",
        "0",
        "--jobs",
        "1",
    ])
    .args(["--share", "0"]);
    let mut child = spawn(&mut hunt);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.by_ref() {
        if line.unwrap().contains("judged") {
            std::fs::remove_file(&alone).unwrap();
            break;
        }
    }
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = text(&output.stderr);
    assert!(
        words.contains("no compiler under test is left: doomed-cc"),
        "{words}"
    );
}

#[test]
fn a_damaged_store_is_refused_and_left_as_it_is() {
    let place = Place::new(1);
    std::fs::create_dir(place.path("store")).unwrap();
    let file = place.path("store").join("candor.db");
    let damaged = b"SQLite format 3\0 and then something else ".repeat(200);
    std::fs::write(&file, &damaged).unwrap();
    for arguments in [vec![], vec!["--resume"]] {
        let output = place.search("store").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let words = text(&output.stderr);
        assert!(words.contains("is not a readable candor store"), "{words}");
        assert_eq!(std::fs::read(&file).unwrap(), damaged);
    }
    let nothing = place.search("none").args(["--resume"]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(
        text(&nothing.stderr).contains("no store in none"),
        "{}",
        text(&nothing.stderr)
    );
    assert!(!place.path("none").exists());
}

/// The store's disk is a tmpfs of one megabyte, in a mount namespace of its own.
#[test]
fn a_full_disk_ends_the_hunt_with_what_was_stored_intact() {
    let programs = 14;
    let place = Place::new(programs);
    let disk = place.path("disk");
    let rescued = place.path("rescued");
    std::fs::create_dir(&disk).unwrap();
    let inner = r#"
        set -e
        mount -t tmpfs -o size=700k tmpfs "$DISK"
        code=0
        PATH=$TOOLS "$@" > "$DISK/../events" || code=$?
        cp -r "$DISK/store" "$RESCUED"
        exit $code
    "#;
    let hunt = place.search("disk/store");
    let output = Command::new("unshare")
        .args([
            "--mount",
            "--map-root-user",
            "--user",
            "sh",
            "-c",
            inner,
            "sh",
        ])
        .arg(hunt.get_program())
        .args(hunt.get_args())
        .env("DISK", &disk)
        .env("TOOLS", place.path("bin"))
        .env("RESCUED", &rescued)
        .env("CANDOR_SCRATCH", place.path("scratch"))
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    let words = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("no space left on"), "{words}");
    let said = ids(&events(&std::fs::read(place.path("events")).unwrap()));
    assert!(!said.is_empty(), "the disk was large enough for a start");
    let store = SqliteStore::open(&rescued).unwrap();
    assert!(said.is_subset(&stored(&store)));
    for finding in store.findings().unwrap() {
        store.case(&finding.case).unwrap();
    }
    // On a larger disk it goes on.
    let resumed = place
        .candor()
        .args(["hunt", "--store", "rescued", "--resume", "--share", "0"])
        .output()
        .unwrap();
    assert_eq!(resumed.status.code(), Some(1), "{}", text(&resumed.stderr));
    assert_eq!(stored(&store).len(), programs);
}

#[test]
fn nonsense_is_refused_in_words() {
    let place = Place::new(1);
    for (arguments, expected) in [
        (vec!["--generator", "none"], "give --corpus DIR"),
        (vec!["--oracles", "tea"], "no oracle is called `tea`"),
        (vec!["--shard", "5/4"], "I/N"),
        (vec!["--for", "soon"], "such as 10m"),
        (vec!["--share", "3"], "--share takes"),
        (
            vec!["--corpus", "nowhere"],
            "cannot read the corpus nowhere",
        ),
        (vec!["--cc", "no-such-cc"], "`no-such-cc` was not found"),
    ] {
        let output = place
            .candor()
            .arg("hunt")
            .args(&arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let words = text(&output.stderr);
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
    assert!(Path::new(env!("CARGO_BIN_EXE_candor")).exists());
}

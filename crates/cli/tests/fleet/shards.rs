//! `candor hunt --shard` and `candor report --merge`.

use candor_store::SqliteStore;

use crate::place::{Place, essence};

#[test]
fn four_shards_merged_are_one_hunt() {
    let place = Place::new(9, 3);
    let seeds = 4;
    let hunt = |store: &str, shard: Option<u64>| {
        let mut command = place.hunt(seeds);
        command.args(["--store", store]);
        if let Some(shard) = shard {
            command.args(["--shard", &format!("{shard}/4")]);
        }
        let output = command.output().unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    hunt("whole", None);
    for shard in 1..=4 {
        hunt(&format!("s{shard}"), Some(shard));
    }
    let merge = |parts: &[&str]| {
        place
            .candor()
            .args(["report", "--store", "all", "--merge"])
            .args(parts)
            .output()
            .unwrap()
    };
    // A part is missing: said, and no reason to stop. Then all, the first ones again.
    let early = merge(&["s2", "s3"]);
    let words = String::from_utf8_lossy(&early.stderr);
    assert!(words.contains("not among these parts: 1/4, 4/4"), "{words}");
    let output = merge(&["s1", "s2", "s3", "s4"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let essence_of = |store: &str| essence(&SqliteStore::open(&place.path(store)).unwrap());
    let whole = essence_of("whole");
    assert_eq!(whole.0.len(), 3, "{:?}", whole.0);
    assert_eq!(whole.1, 9 + seeds);
    assert_eq!(essence_of("all"), whole);

    // The merged store is a campaign like any other: nothing is left of its seeds.
    let mut resumed = place.candor();
    resumed.args(["hunt", "--resume", "--store", "all", "--share", "0"]);
    let output = resumed.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let events = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!events.contains("\"event\":\"judged\""), "{events}");

    let mut other = place.hunt(seeds);
    other.args(["--store", "other", "-O3", "--for", "1s"]);
    other.output().unwrap();
    let refused = merge(&["s1", "other"]);
    assert_eq!(refused.status.code(), Some(2));
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(
        words.contains("levels: -O0 -O2, not -O0 -O2 -O3"),
        "{words}"
    );
    let absent = merge(&["s1", "s5"]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("no store in s5"));
}

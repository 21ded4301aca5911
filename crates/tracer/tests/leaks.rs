//! Many tracees at once leave nothing behind. Alone in its process, so that descriptors can be counted.

mod common;

use std::time::Duration;

use candor_tracer::Outcome;
use common::{LOOPS, Workshop, barriers, children, descriptors, one_barrier};

#[test]
fn many_tracees_in_many_threads() {
    let shop = Workshop::new();
    let good = shop.build("gcc-12", "-O2", "loops", LOOPS);
    let forks = shop.build(
        "gcc-12",
        "-O0 -pthread",
        "forks",
        &one_barrier("fork(); sleep(60);"),
    );
    let spins = shop.build(
        "gcc-12",
        "-O0 -pthread",
        "spins",
        &one_barrier("for (;;) pause();"),
    );
    // Warm up what is opened once per process.
    barriers(&shop.launch(&good));
    let before = descriptors();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (shop, good, forks, spins) = (&shop, &good, &forks, &spins);
            scope.spawn(move || {
                for round in 0..7 {
                    let (program, outcome, stops) = match (worker + round) % 4 {
                        0 => (forks, Outcome::Forked, 1),
                        1 => (spins, Outcome::WallTime, 1),
                        _ => (good, Outcome::Exited(3), 10),
                    };
                    let mut launch = shop.launch(program);
                    if program == spins {
                        launch.limits.wall = Duration::from_millis(250);
                    }
                    let (summary, seen) = barriers(&launch);
                    assert_eq!(summary.outcome, outcome);
                    assert!(seen.len() == stops || outcome == Outcome::WallTime);
                }
            });
        }
    });
    let left: Vec<_> = children()
        .into_iter()
        .filter(|pid| {
            let name = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            name.starts_with(shop.path())
        })
        .collect();
    assert_eq!(left, Vec::<String>::new(), "children left");
    assert_eq!(descriptors(), before, "descriptors left open");
}

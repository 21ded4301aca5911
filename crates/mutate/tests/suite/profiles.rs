//! What the profile keeps and drops, on planted programs.

use std::collections::BTreeSet;

use crate::bench::profiled;
use candor_mutate::{LivePoint, Profile};

/// The live point in front of the text `before`.
fn at<'p>(profile: &'p Profile, before: &str) -> Option<&'p LivePoint> {
    let offset = profile.unit.text().find(before).unwrap();
    let points = &profile.unit.points().points;
    let id = points
        .iter()
        .position(|point| point.offset == offset)
        .unwrap();
    profile.live.iter().find(|live| live.point == id)
}

fn names(live: &LivePoint) -> BTreeSet<&str> {
    live.environment
        .columns
        .iter()
        .map(|column| column.place.text.as_str())
        .collect()
}

#[test]
fn uninitialised_values_are_dropped_even_where_compilers_agree_on_the_bits() {
    // A 1-bit field reads 0 under zero and under pattern initialisation, and `goto` passes by `jumped`.
    let profile = profiled(
        "struct s { unsigned one : 1; int set; };\n\
         int main(void) { struct s v; int never, given = 3; v.set = 7; goto in; { int jumped; in: \n\
         given++; (void)&v; (void)&never; (void)&jumped; } return 0; }",
    )
    .unwrap();
    let live = at(&profile, "(void)&v").unwrap();
    let names = names(live);
    assert!(
        names.contains("given") && names.contains("v.set"),
        "{names:?}"
    );
    for name in ["never", "jumped", "v.one"] {
        assert!(
            !names.contains(name),
            "{name} is not initialised: {names:?}"
        );
    }
}

#[test]
fn values_that_depend_on_the_order_of_evaluation_are_dropped() {
    // gcc evaluates arguments from right to left, clang from left to right.
    let profile = profiled(
        "int g = 5, steady = 9;\nstatic int look(void) { int here = 1; here = here; return here; }\n\
         static int two(int a, int b) { return a + b * 0; }\n\
         int main(void) { return two(look(), g++) - 1; }",
    )
    .unwrap();
    let live = at(&profile, "here = here").unwrap();
    let names = names(live);
    assert!(names.contains("steady"), "{names:?}");
    assert!(
        !names.contains("g"),
        "g is 5 with clang and 6 with gcc here: {names:?}"
    );
}

#[test]
fn tuples_are_joint_and_capped() {
    let profile = profiled(
        "#include <stdio.h>\nint main(void) { int i, twice = 0, total = 0;\n\
         for (i = 0; i < 5; i++) { twice = 2 * i; total += twice; }\n\
         for (i = 0; i < 500; i++) { total ^= i; }\n printf(\"%d\\n\", total); return 0; }",
    )
    .unwrap();
    let few = at(&profile, "total += twice").unwrap();
    assert_eq!((few.hits, few.environment.rows), (5, 5));
    let column = |name: &str| {
        let columns = &few.environment.columns;
        &columns
            .iter()
            .find(|c| c.place.text == name)
            .unwrap()
            .values
    };
    for (i, twice) in column("i").iter().zip(column("twice")) {
        assert_eq!(*twice, 2 * i, "rows are joint");
    }
    let many = at(&profile, "total ^= i").unwrap();
    let interval = many
        .environment
        .intervals
        .iter()
        .find(|interval| interval.place.text == "i");
    let interval = interval.unwrap();
    assert_eq!((interval.low, interval.high, many.hits), (0, 499, 500));
    assert!(
        names(many).contains("twice"),
        "constants stay rows over the cap"
    );
}

#[test]
fn dead_points_are_told_from_live_ones_and_abort_loses_nothing() {
    let profile = profiled(
        "#include <stdlib.h>\nint g = 2;\nint main(int argc, char **argv) { if (argc > 1) { g = 77; }\n\
         if (g == 2) { g = 3; abort(); } return 0; }",
    )
    .unwrap();
    assert!(at(&profile, "g = 3").is_some());
    let offset = profile.unit.text().find("g = 77").unwrap();
    let dead: Vec<usize> = profile
        .dead
        .iter()
        .map(|id| profile.unit.points().points[*id].offset)
        .collect();
    assert!(dead.contains(&offset));
    assert!(profile.reached < profile.points);
}

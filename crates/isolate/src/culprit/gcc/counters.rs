//! Which debug counter cures, and from which count on: the exact transformation.
//!
//! `-fdbg-cnt=NAME:N` lets the first N transformations of a kind happen. The counts of the whole build
//! come from `-fdbg-cnt-list`, which prints them at the end; a build that crashes prints none, and
//! then the count is searched without a bound from above.

use crate::Error;
use crate::answer::{Cure, CureKind, Instance, Isolation};
use crate::culprit::grouping;
use crate::culprit::search::edge;
use crate::probe::Bench;

/// Counters tried at once at first.
const GROUP: usize = 24;

/// More transformations of one kind than this in one program are not told apart.
const MOST: u64 = 1 << 20;

/// Counters with how far they count, from `-fdbg-cnt-list`.
pub fn listed(printed: &str) -> Vec<(String, u64)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let count = words.next()?.parse().ok()?;
        Some((name.to_owned(), count))
    };
    printed.lines().filter_map(row).collect()
}

fn stop_at(name: &str, count: u64) -> String {
    format!("-fdbg-cnt={name}:{count}")
}

/// Tries them; cures go into `answer`.
pub fn cures(bench: &Bench<'_>, answer: &mut Isolation) -> Result<(), Error> {
    let flags = ["-fdbg-cnt-list", "-S", "-o", "program.s"].map(str::to_owned);
    let (said, _) = bench.compile(&flags)?;
    let mut counters = listed(&(said.stdout_text() + &said.stderr_text()));
    let counted = said.ending.success() && counters.iter().any(|(_, count)| *count > 0);
    if counted {
        counters.retain(|(_, count)| *count > 0);
    } else {
        let said = bench.compile_nothing(&flags)?;
        counters = listed(&(said.stdout_text() + &said.stderr_text()));
    }
    if counters.is_empty() {
        answer.notes.push(format!(
            "{} lists no debug counters (-fdbg-cnt-list)",
            bench.compiler.name
        ));
        return Ok(());
    }
    answer.effort.counters = counters.len();
    let flags_of = |group: &[usize]| -> Vec<String> {
        let stop = |number: &usize| counters.get(*number).map(|(name, _)| stop_at(name, 0));
        group.iter().filter_map(stop).collect()
    };
    let outcome = grouping::cures(counters.len(), GROUP, &mut |groups| {
        bench.report(&format!("{} debug counters", counters.len()));
        let sets: Vec<Vec<String>> = groups.iter().map(|group| flags_of(group)).collect();
        bench.test_all(&sets)
    })?;
    for number in outcome.cures {
        let Some((name, count)) = counters.get(number) else {
            continue;
        };
        let total = if counted { *count } else { MOST };
        let found = edge(0, total, bench.jobs(), &|numbers| {
            bench.report(&format!("debug counter {name}"));
            let sets: Vec<Vec<String>> = numbers
                .iter()
                .map(|number| vec![stop_at(name, *number)])
                .collect();
            bench.test_all(&sets)
        })?;
        answer.cures.push(Cure {
            kind: CureKind::Counter,
            name: Instance {
                counter: name.clone(),
                number: found.bad,
                total: counted.then_some(*count),
            }
            .to_string(),
            flags: vec![stop_at(name, found.good)],
            position: None,
            unspecific: false,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_gcc_s_table() {
        let printed = "  counter name                  counter value     closed intervals\n\
            -----------------------------------------------------------------\n  \
            asan_use_after_scope          0                 unset\n  \
            ivopts_loop                   3                 unset\n";
        assert_eq!(
            listed(printed),
            [
                ("asan_use_after_scope".to_owned(), 0),
                ("ivopts_loop".to_owned(), 3)
            ]
        );
    }
}

//! Which `-fno-X` cures, for every optimisation option that is on.

use crate::Error;
use crate::answer::{Cure, CureKind, Isolation};
use crate::culprit::grouping;
use crate::probe::Bench;

/// Options tried at once at first. About one in fifteen cures when any does.
const GROUP: usize = 24;

/// Options whose absence changes so much that a cure says little.
const UNSPECIFIC: &[&str] = &[
    "-finline",
    "-finline-functions",
    "-finline-functions-called-once",
    "-finline-small-functions",
    "-fearly-inlining",
    "-ftree-loop-optimize",
    "-fguess-branch-probability",
    "-fstrict-aliasing",
    "-ftree-ter",
    "-ftree-coalesce-vars",
    "-ftoplevel-reorder",
    "-funit-at-a-time",
    // without them debug information has no values that could be wrong
    "-fvar-tracking",
    "-fvar-tracking-assignments",
    "-fvar-tracking-uninit",
];

/// The options that are on, from `-Q --help=optimizers`.
pub fn enabled(printed: &str) -> Vec<String> {
    let on = |line: &str| {
        let mut words = line.split_whitespace();
        let option = words.next().filter(|word| word.starts_with("-f"))?;
        (words.next() == Some("[enabled]")).then(|| option.to_owned())
    };
    printed.lines().filter_map(on).collect()
}

/// `-fno-ivopts` of `-fivopts`.
pub fn off(option: &str) -> String {
    format!("-fno-{}", option.trim_start_matches("-f"))
}

/// Tries them; cures go into `answer`.
pub fn cures(bench: &Bench<'_>, answer: &mut Isolation) -> Result<(), Error> {
    let said = bench.compile_nothing(&["-Q".into(), "--help=optimizers".into()])?;
    let options = enabled(&said.stdout_text());
    if options.is_empty() {
        answer.notes.push(format!(
            "{} lists no options (-Q --help=optimizers): passes only",
            bench.compiler.name
        ));
    }
    answer.effort.options = options.len();
    let flag = |number: &usize| options.get(*number).map(|option| off(option));
    let outcome = grouping::cures(options.len(), GROUP, &mut |groups| {
        bench.report(&format!("{} options", options.len()));
        let sets: Vec<Vec<String>> = groups
            .iter()
            .map(|group| group.iter().filter_map(flag).collect())
            .collect();
        bench.test_all(&sets)
    })?;
    for number in outcome.cures {
        let Some(option) = options.get(number) else {
            continue;
        };
        answer.cures.push(Cure {
            kind: CureKind::Option,
            name: option.clone(),
            flags: vec![off(option)],
            position: None,
            unspecific: UNSPECIFIC.contains(&option.as_str()),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enabled_options_are_read_from_gcc_s_table() {
        let printed = "The following options control optimizations:\n  \
            -O<number>\t\t\n  \
            -faggressive-loop-optimizations \t[enabled]\n  \
            -falign-functions           \t[disabled]\n  \
            -fexcess-precision=         \t[default]\n  \
            -fvect-cost-model=[unlimited|dynamic|cheap|very-cheap] \tvery-cheap\n  \
            -fivopts                    \t[enabled]\n";
        assert_eq!(
            enabled(printed),
            ["-faggressive-loop-optimizations", "-fivopts"]
        );
        assert_eq!(off("-fivopts"), "-fno-ivopts");
    }
}

//! Which `-fdisable-<pass>` cures, for every instance of every pass that is on.
//!
//! The list comes from an empty file: on the program itself a crash may come first.

use crate::answer::{Cure, CureKind, Isolation};
use crate::culprit::grouping;
use crate::probe::{Bench, Seen};
use crate::{Error, files};

/// Passes tried at once at first.
const GROUP: usize = 24;

/// Without these no code comes out at all: gcc 11 and 12 crash on every program. Others break only
/// some programs and are found out on the way.
const MANDATORY: &[&str] = &[
    "tree-lower",
    "tree-cfg",
    "tree-ssa",
    "tree-loopinit",
    "tree-loopdone",
    "ipa-build_ssa_passes",
    "rtl-expand",
    "rtl-vregs",
    "rtl-into_cfglayout",
    "rtl-outof_cfglayout",
    "rtl-dfinit",
    "rtl-loop2",
    "rtl-loop2_init",
    "rtl-loop2_done",
    "rtl-ira",
    "rtl-reload",
    "rtl-pro_and_epilogue",
    "rtl-shorten",
    "rtl-final",
];

/// Passes on which so much depends that a cure says little: they lower or clean up what all others
/// work on, or only contain others.
const UNSPECIFIC: &[&str] = &[
    "tree-loop",
    "tree-early_optimizations",
    "ipa-opt_local_passes",
    "ipa-build_ssa_passes",
    "rtl-loop2",
    // without them no location is written, or none can be followed
    "rtl-vartrack",
    "rtl-dwarf2",
    // most bugs need what they inline
    "tree-einline",
    "ipa-inline",
    "tree-eh",
    "tree-omplower",
    "tree-release_ssa",
    "tree-local-fnsummary",
    "tree-fixup_cfg",
    "tree-profile_estimate",
    "tree-optimized",
    "ipa-visibility",
    "ipa-whole-program",
    "ipa-remove_symbols",
    "ipa-fnsummary",
    "ipa-free-fnsummary",
    "ipa-single-use",
    "ipa-targetclone",
    "ipa-simdclone",
];

/// One pass of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelinePass {
    /// `tree-forwprop3`, as `-fdisable-` takes it.
    pub name: String,
    /// Whether it is on.
    pub on: bool,
}

/// All passes, in the order in which they run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// In order.
    pub passes: Vec<PipelinePass>,
}

impl Pipeline {
    /// Asks the compiler.
    pub fn list(bench: &Bench<'_>) -> Result<Self, Error> {
        let flags = ["-fdump-passes", "-S", "-o", "empty.s"].map(str::to_owned);
        let said = bench.compile_nothing(&flags)?;
        let pipeline = Self::parse(&said.stderr_text());
        if pipeline.passes.is_empty() {
            let text = said.stderr_text();
            return Err(Error::Flag {
                compiler: bench.compiler.name.clone(),
                flag: "-fdump-passes".into(),
                met: match text.lines().next() {
                    Some(line) => line.to_owned(),
                    None => "it prints nothing".into(),
                },
            });
        }
        Ok(pipeline)
    }

    /// Reads what `-fdump-passes` prints. Names with a star cannot be switched off.
    pub fn parse(printed: &str) -> Self {
        let row = |line: &str| {
            let (name, state) = line.split_once(':')?;
            let on = match state.trim() {
                "ON" => true,
                "OFF" => false,
                _ => return None,
            };
            let pass = PipelinePass {
                name: name.trim().to_owned(),
                on,
            };
            let kinds = ["tree-", "rtl-", "ipa-"];
            kinds
                .iter()
                .any(|kind| pass.name.starts_with(kind))
                .then_some(pass)
        };
        let passes = printed.lines().filter_map(row).collect();
        Pipeline { passes }
    }

    /// Where a pass comes.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.passes.iter().position(|pass| pass.name == name)
    }

    /// Whether a cure by this pass says little.
    pub fn unspecific(&self, name: &str) -> bool {
        UNSPECIFIC.contains(&files::family_of(name))
    }

    /// Whether gcc can do without it at all.
    pub fn switchable(&self, name: &str) -> bool {
        !MANDATORY.contains(&name)
    }

    /// The passes worth switching off, in order.
    pub fn candidates(&self) -> Vec<&PipelinePass> {
        let wanted = |pass: &&PipelinePass| pass.on && self.switchable(&pass.name);
        self.passes.iter().filter(wanted).collect()
    }
}

/// `-fdisable-tree-ivopts`.
pub fn disable(pass: &str) -> String {
    format!("-fdisable-{pass}")
}

/// Tries them; cures go into `answer`.
pub fn cures(bench: &Bench<'_>, pipeline: &Pipeline, answer: &mut Isolation) -> Result<(), Error> {
    let candidates = pipeline.candidates();
    answer.effort.passes = candidates.len();
    let flags_of = |group: &[usize]| -> Vec<String> {
        let pass = |number: &usize| candidates.get(*number).map(|pass| disable(&pass.name));
        group.iter().filter_map(pass).collect()
    };
    let outcome = grouping::cures(candidates.len(), GROUP, &mut |groups| {
        bench.report(&format!("{} passes", candidates.len()));
        let sets: Vec<Vec<String>> = groups.iter().map(|group| flags_of(group)).collect();
        bench.test_all(&sets)
    })?;
    for number in &outcome.cures {
        let Some(pass) = candidates.get(*number) else {
            continue;
        };
        let flags = flags_of(&[*number]);
        if !builds(bench, &flags)? {
            continue; // another crash instead of this one is no cure
        }
        answer.cures.push(Cure {
            kind: CureKind::Pass,
            name: pass.name.clone(),
            flags,
            position: pipeline.position(&pass.name),
            unspecific: pipeline.unspecific(&pass.name),
        });
    }
    let specific = |cure: &Cure| cure.kind == CureKind::Pass && !cure.unspecific;
    if !answer.cures.iter().any(specific) {
        families(bench, pipeline, answer)?;
    }
    Ok(())
}

/// A claim about a crash fails also when the compiler crashes elsewhere; a cure compiles.
fn builds(bench: &Bench<'_>, flags: &[String]) -> Result<bool, Error> {
    if !matches!(bench.claim, candor_predicate::Claim::Crash { .. }) {
        return Ok(true);
    }
    let mut flags = flags.to_vec();
    flags.extend(["-S", "-o", "program.s"].map(str::to_owned));
    Ok(bench.compile(&flags)?.0.ending.success())
}

/// When no single instance cures: all instances of a pass at once (the same harm can be done by each).
fn families(bench: &Bench<'_>, pipeline: &Pipeline, answer: &mut Isolation) -> Result<(), Error> {
    let mut families: Vec<(&str, Vec<String>)> = Vec::new();
    for pass in pipeline.candidates() {
        let family = files::family_of(&pass.name);
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, flags)) => flags.push(disable(&pass.name)),
            None => families.push((family, vec![disable(&pass.name)])),
        }
    }
    families.retain(|(_, flags)| flags.len() > 1);
    bench.report(&format!(
        "{} passes with all their instances",
        families.len()
    ));
    let sets: Vec<Vec<String>> = families.iter().map(|(_, flags)| flags.clone()).collect();
    let answers = bench.test_all(&sets)?;
    for ((family, flags), seen) in families.into_iter().zip(answers) {
        if seen != Seen::Good || !builds(bench, &flags)? {
            continue;
        }
        let last = flags
            .last()
            .and_then(|flag| pipeline.position(flag.trim_start_matches("-fdisable-")));
        answer.cures.push(Cure {
            kind: CureKind::Joint,
            name: family.to_owned(),
            flags,
            position: last,
            unspecific: pipeline.unspecific(family),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "   *warn_unused_result                                 :  ON\n   \
           tree-omplower                                       :  ON\n   \
           ipa-opt_local_passes                                :  ON\n      \
              tree-fixup_cfg2                                  :  ON\n      \
              tree-ehcleanup1                                  :  OFF\n   \
           rtl-rtl pre                                         :  ON\n";

    #[test]
    fn the_pipeline_is_read_in_order() {
        let pipeline = Pipeline::parse(PRINTED);
        let names: Vec<(&str, bool)> = pipeline
            .passes
            .iter()
            .map(|pass| (pass.name.as_str(), pass.on))
            .collect();
        assert_eq!(
            names,
            [
                ("tree-omplower", true),
                ("ipa-opt_local_passes", true),
                ("tree-fixup_cfg2", true),
                ("tree-ehcleanup1", false),
                ("rtl-rtl pre", true),
            ]
        );
        assert!(pipeline.unspecific("ipa-opt_local_passes"));
        assert!(pipeline.unspecific("tree-fixup_cfg2"));
        assert!(!pipeline.unspecific("rtl-rtl pre"));
        assert_eq!(pipeline.candidates().len(), 4);
    }
}

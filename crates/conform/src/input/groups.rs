//! Which passes are meant: one, a group, or all.

use std::collections::BTreeSet;

/// Passes of llvm/lib/Transforms/Scalar, by their pipeline names: what the paper examined.
const SCALAR: [&str; 74] = [
    "adce",
    "alignment-from-assumptions",
    "bdce",
    "callsite-splitting",
    "consthoist",
    "constraint-elimination",
    "correlated-propagation",
    "dce",
    "dfa-jump-threading",
    "div-rem-pairs",
    "dse",
    "early-cse",
    "flattencfg",
    "float2int",
    "guard-widening",
    "gvn",
    "gvn-hoist",
    "gvn-sink",
    "indvars",
    "infer-address-spaces",
    "infer-alignment",
    "instsimplify",
    "irce",
    "jump-threading",
    "jump-table-to-switch",
    "licm",
    "lnicm",
    "loop-bound-split",
    "loop-data-prefetch",
    "loop-deletion",
    "loop-distribute",
    "loop-flatten",
    "loop-fusion",
    "loop-idiom",
    "loop-instsimplify",
    "loop-interchange",
    "loop-load-elim",
    "loop-predication",
    "loop-reduce",
    "loop-reroll",
    "loop-rotate",
    "loop-simplifycfg",
    "loop-sink",
    "loop-term-fold",
    "loop-unroll",
    "loop-unroll-and-jam",
    "loop-unroll-full",
    "loop-versioning-licm",
    "lower-atomic",
    "lower-constant-intrinsics",
    "lower-expect",
    "lower-guard-intrinsic",
    "lower-matrix-intrinsics",
    "lower-widenable-condition",
    "make-guards-explicit",
    "memcpyopt",
    "mergeicmps",
    "mldst-motion",
    "nary-reassociate",
    "newgvn",
    "partially-inline-libcalls",
    "place-safepoints",
    "reassociate",
    "reg2mem",
    "rewrite-statepoints-for-gc",
    "scalarizer",
    "sccp",
    "separate-const-offset-from-gep",
    "simple-loop-unswitch",
    "simplifycfg",
    "sink",
    "slsr",
    "speculative-execution",
    "sroa",
];

/// The rest of Scalar, and the passes of the paper's Table 6.
const SCALAR_TOO: [&str; 3] = ["structurizecfg", "tailcallelim", "tlshoist"];

const TABLE6: [&str; 18] = [
    "correlated-propagation",
    "gvn-hoist",
    "tailcallelim",
    "indvars",
    "jump-threading",
    "licm",
    "loop-load-elim",
    "nary-reassociate",
    "gvn-sink",
    "div-rem-pairs",
    "separate-const-offset-from-gep",
    "infer-address-spaces",
    "loop-flatten",
    "lower-constant-intrinsics",
    "speculative-execution",
    "simplifycfg",
    "loop-reduce",
    "simple-loop-unswitch",
];

/// Names that stand for several passes.
pub const GROUPS: [(&str, &str); 3] = [
    ("scalar", "the passes of llvm/lib/Transforms/Scalar"),
    ("table6", "the 18 passes of the paper's Table 6"),
    ("all", "every pass"),
];

/// Passes that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every pass.
    All,
    /// These.
    Some(BTreeSet<String>),
}

impl Selection {
    /// One pass.
    pub fn pass(name: &str) -> Self {
        Selection::Some(BTreeSet::from([crate::pipeline::base(name).to_owned()]))
    }

    /// Groups and passes by name.
    pub fn named(names: &[String]) -> Self {
        let mut chosen = BTreeSet::new();
        for name in names {
            match name.as_str() {
                "all" => return Selection::All,
                "scalar" => {
                    chosen.extend(SCALAR.into_iter().chain(SCALAR_TOO).map(str::to_owned));
                }
                "table6" => chosen.extend(TABLE6.map(str::to_owned)),
                other => {
                    chosen.insert(other.to_owned());
                }
            }
        }
        Selection::Some(chosen)
    }

    /// Whether a pass is asked for.
    pub fn contains(&self, pass: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Some(chosen) => chosen.contains(pass),
        }
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selection::All => f.write_str("any pass"),
            Selection::Some(chosen) => {
                let shown: Vec<&str> = chosen.iter().take(5).map(String::as_str).collect();
                f.write_str(&shown.join(", "))?;
                match chosen.len() > shown.len() {
                    true => write!(f, " and {} more", chosen.len() - shown.len()),
                    false => Ok(()),
                }
            }
        }
    }
}

/// The names nearest to one that does not exist.
pub fn nearest(name: &str, known: &BTreeSet<String>) -> Vec<String> {
    let mut scored: Vec<(usize, &String)> = known
        .iter()
        .map(|one| (strsim::damerau_levenshtein(name, one), one))
        .filter(|(distance, one)| *distance <= 3 || one.contains(name))
        .collect();
    scored.sort();
    scored
        .into_iter()
        .take(3)
        .map(|(_, one)| one.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_for_their_passes() {
        let scalar = Selection::named(&["scalar".to_owned()]);
        for pass in TABLE6 {
            assert!(scalar.contains(pass), "{pass}");
        }
        assert!(!scalar.contains("instcombine"));
        assert!(Selection::All.contains("instcombine"));
    }

    #[test]
    fn the_nearest_names_are_offered() {
        let known = TABLE6.map(str::to_owned).into();
        assert_eq!(nearest("tailcalelim", &known), ["tailcallelim"]);
        assert_eq!(nearest("unswitch", &known), ["simple-loop-unswitch"]);
        assert!(nearest("zzzzzzzz", &known).is_empty());
    }
}

//! rustc: its own passes on MIR first, where it lets them be switched off (`-Z`, nightly only), then LLVM's by their
//! pass limit, which `clang` knows how to search.

use crate::Error;
use crate::answer::{Cure, CureKind, Isolation, Outcome, Suspect};
use crate::culprit::clang;
use crate::probe::{Bench, Seen};

/// MIR passes that change what variables are, with their files below `compiler/rustc_mir_transform/src`.
const PASSES: &[(&str, &str)] = &[
    ("DestinationPropagation", "dest_prop.rs"),
    ("CopyProp", "copy_prop.rs"),
    ("GVN", "gvn.rs"),
    ("ReferencePropagation", "ref_prop.rs"),
    ("ScalarReplacementOfAggregates", "sroa.rs"),
    ("DataflowConstProp", "dataflow_const_prop.rs"),
    ("JumpThreading", "jump_threading.rs"),
    ("Inline", "inline.rs"),
    ("RenameReturnPlace", "nrvo.rs"),
    ("DeadStoreElimination-initial", "dead_store_elimination.rs"),
    ("DeadStoreElimination-final", "dead_store_elimination.rs"),
    ("SimplifyLocals-final", "simplify.rs"),
];

/// Names the pass; the culprit and its cures go into `answer`.
pub fn isolate(bench: &Bench<'_>, answer: &mut Isolation) -> Result<(), Error> {
    bench.report("switching rustc's own passes off");
    let without = |level: &str| vec![format!("-Zmir-opt-level={level}")];
    match bench.test(&without("0"))? {
        Seen::Good => {}
        Seen::Bad => return clang::isolate(bench, answer).map(drop),
        Seen::Broken(_) => {
            clang::isolate(bench, answer)?;
            if let Outcome::NoCure(why) = &mut answer.outcome {
                why.push_str(
                    "; or one of rustc's own passes on MIR, which only a nightly lets one leave out",
                );
            }
            return Ok(());
        }
    }
    answer.cures.push(Cure {
        kind: CureKind::Option,
        name: "-Zmir-opt-level".into(),
        flags: without("0"),
        position: None,
        unspecific: true,
    });
    for (position, (pass, file)) in PASSES.iter().enumerate() {
        let flags = vec![format!("-Zmir-enable-passes=-{pass}")];
        if bench.test(&flags)? != Seen::Good {
            continue;
        }
        answer.cures.push(Cure {
            kind: CureKind::Pass,
            name: (*pass).to_owned(),
            flags: flags.clone(),
            position: Some(position),
            unspecific: false,
        });
        answer.suspects.push(Suspect {
            pass: (*pass).to_owned(),
            files: vec![format!("compiler/rustc_mir_transform/src/{file}")],
            why: vec![format!("good with {}", flags.join(" "))],
            disable: flags,
            ..Suspect::default()
        });
    }
    answer.outcome = if answer.suspects.is_empty() {
        Outcome::NoCure(
            "it is one of rustc's own passes on MIR (-Zmir-opt-level=0 cures), but none of those that can be \
             switched off alone"
                .into(),
        )
    } else {
        Outcome::Found
    };
    Ok(())
}

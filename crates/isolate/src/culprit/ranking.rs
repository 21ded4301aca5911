//! In which order to look at gcc's passes, given everything that cures.
//!
//! A pass that runs late and cures is more likely the culprit than an early one, which may only have
//! prepared the ground: the last curing pass of the pipeline leads. Before it comes the pass in which
//! `-fchecking` fires, because there the compiler itself saw its program broken; and for a crash the
//! pass it happened in, when nothing after it was ever reached. Options lead to the passes they
//! open, counters to the files that ask them. Cures by passes on which everything depends come last.

use std::collections::BTreeSet;

use crate::answer::{Cure, CureKind, Diagnosis, Instance, Suspect};
use crate::culprit::gcc::passes::Pipeline;
use crate::files;

/// A suspect with what decides its place.
struct Candidate {
    family: String,
    position: Option<usize>,
    weight: Weight,
    suspect: Suspect,
}

/// Coarse order; within one, later passes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// The compiler's own checks fired in it.
    Checked,
    /// It cures.
    Cures,
    /// The compiler crashed in it.
    Crashed,
    /// An option that opens it cures.
    Opened,
    /// A counter or an option that no pass's gate reads cures.
    Named,
    /// It cures, which says little.
    Unspecific,
}

/// Orders the passes to look at. For a claim about debug information (`debug`) an option that cures
/// where no instance of its pass does counts less: late passes keep or lose values without doing wrong.
pub fn rank(
    pipeline: &Pipeline,
    cures: &[Cure],
    diagnosis: Option<&Diagnosis>,
    debug: bool,
) -> Vec<Suspect> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let of =
        |kinds: &'static [CureKind]| cures.iter().filter(move |cure| kinds.contains(&cure.kind));
    // passes first: options and counters then add to what is known of them
    for cure in of(&[CureKind::Pass, CureKind::Joint]) {
        pass(&mut candidates, pipeline, cure);
    }
    for cure in of(&[CureKind::Option]) {
        option(&mut candidates, pipeline, cure, debug);
    }
    for cure in of(&[CureKind::Counter]) {
        counter(&mut candidates, cure);
    }
    if let Some(diagnosis) = diagnosis {
        spoken(&mut candidates, pipeline, diagnosis);
    }
    candidates.sort_by(|a, b| {
        (a.weight, std::cmp::Reverse(a.position), &a.family).cmp(&(
            b.weight,
            std::cmp::Reverse(b.position),
            &b.family,
        ))
    });
    candidates.into_iter().map(|one| one.suspect).collect()
}

/// The candidate of this family, made if need be.
fn entry<'c>(
    candidates: &'c mut Vec<Candidate>,
    name: &str,
    position: Option<usize>,
    weight: Weight,
    files: Vec<String>,
) -> &'c mut Candidate {
    let family = files::family_of(name).to_owned();
    let at = match candidates.iter().position(|one| one.family == family) {
        Some(at) => at,
        None => {
            candidates.push(Candidate {
                family,
                position,
                weight,
                suspect: Suspect {
                    pass: name.to_owned(),
                    files,
                    unspecific: weight == Weight::Unspecific,
                    ..Suspect::default()
                },
            });
            candidates.len() - 1
        }
    };
    &mut candidates[at]
}

/// A pass that cures: its last curing instance stands for the family.
fn pass(candidates: &mut Vec<Candidate>, pipeline: &Pipeline, cure: &Cure) {
    let weight = if cure.unspecific {
        Weight::Unspecific
    } else {
        Weight::Cures
    };
    let files = files::of_gcc_pass(&cure.name);
    let name = match cure.kind {
        CureKind::Joint => cure.flags.last().map_or(cure.name.as_str(), |flag| {
            flag.trim_start_matches("-fdisable-")
        }),
        _ => &cure.name,
    };
    let position = cure.position.or_else(|| pipeline.position(name));
    let candidate = entry(candidates, name, position, weight, files);
    candidate.weight = candidate.weight.min(weight);
    candidate.suspect.why.push(match cure.kind {
        CureKind::Joint => format!("cured by {} together", cure.flags.join(" ")),
        _ => format!("cured by {}", cure.flags.join(" ")),
    });
    if candidate.position <= position || candidate.suspect.disable.is_empty() {
        candidate.position = position;
        candidate.suspect.pass = name.to_owned();
        candidate.suspect.disable = cure.flags.clone();
    }
}

/// An option that cures: evidence for those of its passes that cure too; else, where no instance
/// alone does, for the pass it opens; else for the files that read it.
fn option(candidates: &mut Vec<Candidate>, pipeline: &Pipeline, cure: &Cure, debug: bool) {
    let why = format!("cured by {}", cure.flags.join(" "));
    let opened = files::passes_of_gcc_option(&cure.name);
    let read_in = files::of_gcc_option(&cure.name);
    let mut known = false;
    for candidate in candidates.iter_mut() {
        let first = candidate.suspect.files.first();
        let reads = first.is_some_and(|file| read_in.contains(file));
        if opened.contains(&candidate.family) || reads {
            candidate.suspect.why.push(why.clone());
            known = true;
        }
    }
    if known {
        return;
    }
    // the last instance that runs of each pass
    let mut last: Vec<(usize, String)> = Vec::new();
    for family in &opened {
        let running = pipeline.passes.iter().enumerate().rev();
        let found = running
            .filter(|(_, pass)| pass.on)
            .find(|(_, pass)| files::family_of(&pass.name) == family);
        last.extend(found.map(|(position, pass)| (position, pass.name.clone())));
    }
    let mut homes: Vec<Option<String>> = last
        .iter()
        .map(|(_, name)| files::of_gcc_pass(name).into_iter().next())
        .collect();
    homes.dedup();
    let weight = match (cure.unspecific, homes.len()) {
        (true, _) => Weight::Unspecific,
        (false, 1) if !debug => Weight::Cures,
        (false, _) => Weight::Opened,
    };
    for (position, name) in &last {
        let weight = match pipeline.unspecific(name) {
            true => Weight::Unspecific,
            false => weight,
        };
        let files = files::of_gcc_pass(name);
        let candidate = entry(candidates, name, Some(*position), weight, files);
        candidate.suspect.why.push(why.clone());
        candidate.suspect.disable = cure.flags.clone();
    }
    if last.is_empty() {
        readers(candidates, pipeline, cure, &why, debug);
    }
}

/// An option that no gate reads: the files that do, under the name of a pass of theirs if one is there.
fn readers(
    candidates: &mut Vec<Candidate>,
    pipeline: &Pipeline,
    cure: &Cure,
    why: &str,
    debug: bool,
) {
    let files = files::of_gcc_option(&cure.name);
    let Some(first) = files.first() else { return };
    // read in one file only: the last pass of that file
    let of_file = |name: &str| files::of_gcc_pass(name).first() == Some(first);
    let running = pipeline.passes.iter().enumerate().rev();
    let last = running
        .filter(|(_, pass)| pass.on && pipeline.switchable(&pass.name) && files.len() == 1)
        .find(|(_, pass)| of_file(&pass.name));
    let unspecific = last.is_some_and(|(_, pass)| pipeline.unspecific(&pass.name));
    let weight = match (cure.unspecific || unspecific, last.is_some() && !debug) {
        (true, _) => Weight::Unspecific,
        (false, true) => Weight::Cures,
        (false, false) => Weight::Named,
    };
    let (name, position) = match last {
        Some((position, pass)) => (pass.name.as_str(), Some(position)),
        None => (cure.name.as_str(), None),
    };
    let candidate = entry(candidates, name, position, weight, files);
    candidate.suspect.why.push(why.to_owned());
    if candidate.suspect.disable.is_empty() {
        candidate.suspect.disable = cure.flags.clone();
    }
}

/// A counter that cures tells the instance of a pass of its files, or stands for itself.
fn counter(candidates: &mut Vec<Candidate>, cure: &Cure) {
    let Some(instance) = Instance::parse(&cure.name) else {
        return;
    };
    let files: BTreeSet<String> = files::of_gcc_counter(&instance.counter)
        .into_iter()
        .collect();
    let why = format!("cured by {}", cure.flags.join(" "));
    let known = candidates.iter_mut().find(|one| {
        one.suspect
            .files
            .first()
            .is_some_and(|file| files.contains(file))
    });
    match known {
        Some(candidate) => {
            candidate.suspect.why.push(why);
            candidate.suspect.instance = Some(instance);
        }
        None if files.is_empty() => {}
        None => {
            let name = format!("counter {}", instance.counter);
            let files = files.into_iter().collect();
            let candidate = entry(candidates, &name, None, Weight::Named, files);
            candidate.suspect.why.push(why);
            candidate.suspect.disable = cure.flags.clone();
            candidate.suspect.instance = Some(instance);
        }
    }
}

/// The pass the compiler itself named.
fn spoken(candidates: &mut Vec<Candidate>, pipeline: &Pipeline, diagnosis: &Diagnosis) {
    let checked = !diagnosis.flag.is_empty();
    let weight = match checked {
        true => Weight::Checked,
        false => Weight::Crashed,
    };
    let mut files = files::of_gcc_pass(&diagnosis.pass);
    if let Some(file) = &diagnosis.file
        && !files.contains(file)
    {
        files.push(file.clone());
    }
    let position = pipeline.position(&diagnosis.pass);
    let candidate = entry(candidates, &diagnosis.pass, position, weight, files);
    candidate.weight = candidate.weight.min(weight);
    candidate.suspect.why.insert(
        0,
        match checked {
            true => format!("{} fires in it: {}", diagnosis.flag, diagnosis.message),
            false => format!("the compiler crashed in it: {}", diagnosis.message),
        },
    );
}

impl std::fmt::Display for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.counter, self.number)?;
        match self.total {
            Some(total) => write!(f, " of {total}"),
            None => Ok(()),
        }
    }
}

impl Instance {
    /// The reverse of its display.
    fn parse(text: &str) -> Option<Self> {
        let (counter, rest) = text.split_once(':')?;
        let (number, total) = match rest.split_once(" of ") {
            Some((number, total)) => (number, Some(total.parse().ok()?)),
            None => (rest, None),
        };
        Some(Instance {
            counter: counter.to_owned(),
            number: number.parse().ok()?,
            total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline() -> Pipeline {
        let printed: String = [
            "tree-eh",
            "tree-forwprop1",
            "tree-pre",
            "tree-lim2",
            "tree-ivopts",
            "tree-dse3",
            "rtl-cse1",
        ]
        .map(|name| format!("   {name}  :  ON\n"))
        .concat();
        Pipeline::parse(&printed)
    }

    fn pass_cure(name: &str) -> Cure {
        let pipeline = pipeline();
        Cure {
            kind: CureKind::Pass,
            name: name.into(),
            flags: vec![format!("-fdisable-{name}")],
            position: pipeline.position(name),
            unspecific: pipeline.unspecific(name),
        }
    }

    fn other(kind: CureKind, name: &str, flag: &str) -> Cure {
        Cure {
            kind,
            name: name.into(),
            flags: vec![flag.into()],
            position: None,
            unspecific: false,
        }
    }

    fn names(suspects: &[Suspect]) -> Vec<&str> {
        suspects.iter().map(|one| one.pass.as_str()).collect()
    }

    #[test]
    fn the_last_curing_pass_leads_and_unspecific_ones_never_do() {
        // PR 107407 of gcc's bug tracker, as bisected by hand (shared notes, part D)
        let cures = [
            pass_cure("tree-eh"),
            pass_cure("tree-pre"),
            pass_cure("tree-lim2"),
            pass_cure("tree-dse3"),
            other(CureKind::Option, "-ftree-dse", "-fno-tree-dse"),
            other(CureKind::Counter, "lim:2 of 5", "-fdbg-cnt=lim:1"),
        ];
        let suspects = rank(&pipeline(), &cures, None, false);
        assert_eq!(
            names(&suspects),
            ["tree-dse3", "tree-lim2", "tree-pre", "tree-eh"]
        );
        assert_eq!(suspects[0].files[0], "tree-ssa-dse.cc");
        assert_eq!(suspects[0].why.len(), 2, "{:?}", suspects[0].why);
        assert_eq!(suspects[1].instance.as_ref().unwrap().number, 2);
        assert!(suspects[3].unspecific);
    }

    #[test]
    fn an_option_leads_to_its_pass_when_no_instance_cures() {
        // PR 106523: -fno-tree-forwprop cures, no instance of the pass does
        let cures = [
            pass_cure("tree-eh"),
            other(CureKind::Option, "-ftree-forwprop", "-fno-tree-forwprop"),
        ];
        let suspects = rank(&pipeline(), &cures, None, false);
        assert_eq!(names(&suspects), ["tree-forwprop1", "tree-eh"]);
        assert_eq!(suspects[0].disable, ["-fno-tree-forwprop"]);
    }

    #[test]
    fn what_the_compiler_says_itself_comes_first() {
        let said = Diagnosis {
            flag: "-fchecking=1".into(),
            pass: "tree-lim2".into(),
            message: "verify_gimple failed".into(),
            file: None,
        };
        let suspects = rank(&pipeline(), &[pass_cure("tree-dse3")], Some(&said), false);
        assert_eq!(names(&suspects), ["tree-lim2", "tree-dse3"]);
        let crash = Diagnosis {
            flag: String::new(),
            file: Some("recog.cc".into()),
            ..said
        };
        let suspects = rank(&pipeline(), &[pass_cure("tree-pre")], Some(&crash), false);
        assert_eq!(names(&suspects), ["tree-pre", "tree-lim2"]);
        assert!(suspects[1].files.contains(&"recog.cc".to_owned()));
        assert!(rank(&pipeline(), &[], None, false).is_empty());
    }
}

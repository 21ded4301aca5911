//! What gcc says by itself: the message of a crash, or of its internal checks.
//!
//! `-fchecking` works in release compilers. Where it fires, the pass in which it does is most often
//! the one that broke the program, for one or two builds' cost. A crash names the pass it happened in
//! ("during GIMPLE pass: vect"); which instance, the newest dump file tells.

use std::time::SystemTime;

use candor_predicate::Claim;
use candor_toolchain::build::crash_site;

use crate::Error;
use crate::answer::Diagnosis;
use crate::probe::{Bench, files_in};

/// The compiler's own word, if it has one.
pub fn diagnosis(bench: &Bench<'_>) -> Result<Option<Diagnosis>, Error> {
    if bench.about_debug_information() {
        return Ok(None); // nothing is wrong with the code
    }
    let crash = match bench.claim {
        Claim::Crash { .. } => hear(bench, "")?,
        _ => None,
    };
    let checked = hear(bench, "-fchecking=1")?;
    // checks that fire in the same place have found nothing that the crash does not show
    Ok(match (crash, checked) {
        (Some(crash), Some(checked)) if checked.pass != crash.pass => Some(checked),
        (None, checked) => checked,
        (crash, _) => crash,
    })
}

fn hear(bench: &Bench<'_>, flag: &str) -> Result<Option<Diagnosis>, Error> {
    let dumps = ["-fdump-tree-all", "-fdump-rtl-all", "-fdump-ipa-all"];
    let mut flags: Vec<String> = dumps.map(str::to_owned).to_vec();
    flags.extend((!flag.is_empty()).then(|| flag.to_owned()));
    flags.extend(["-S", "-o", "program.s"].map(str::to_owned));
    let (said, directory) = bench.compile(&flags)?;
    if said.ending.success() || said.ending.timed_out() {
        return Ok(None);
    }
    let text = said.stderr_text();
    let (Some(site), Some((kind, name))) = (crash_site(&text, said.ending), during(&text)) else {
        return Ok(None);
    };
    // the newest dump tells which instance it was
    let newest = files_in(directory.path())
        .into_iter()
        .filter_map(|file| {
            let pass = file.rsplit('.').next()?.to_owned();
            let bare = pass.trim_end_matches(|c: char| c.is_ascii_digit());
            let ours = pass == name || bare == name;
            let time = std::fs::metadata(directory.path().join(&file))
                .and_then(|data| data.modified())
                .unwrap_or(SystemTime::UNIX_EPOCH);
            ours.then_some((time, file.clone(), pass))
        })
        .max();
    let pass = newest.map_or(name, |(_, _, pass)| pass);
    Ok(Some(Diagnosis {
        flag: flag.to_owned(),
        pass: format!("{kind}-{pass}"),
        file: file_of(&site),
        message: site,
    }))
}

/// The pass in "during GIMPLE pass: vect".
fn during(text: &str) -> Option<(&'static str, String)> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix("during ")?;
        let (kind, name) = rest.split_once(" pass: ")?;
        let kind = match kind {
            "GIMPLE" => "tree",
            "RTL" => "rtl",
            "IPA" => "ipa",
            _ => return None,
        };
        Some((kind, name.trim().to_owned()))
    })
}

/// The file in "internal compiler error: in F, at FILE:LINE".
fn file_of(site: &str) -> Option<String> {
    let (_, place) = site.rsplit_once(", at ")?;
    let (file, line) = place.split_once(':')?;
    let plain =
        !file.is_empty() && !file.contains(' ') && line.starts_with(|c: char| c.is_ascii_digit());
    plain.then(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_messages_name_pass_and_file() {
        let text = "during RTL pass: loop2_invariant\na.c: In function 'f':\na.c:17:1: internal compiler error: in purge_dead_edges, at cfgrtl.cc:3347\n";
        assert_eq!(during(text), Some(("rtl", "loop2_invariant".to_owned())));
        let site = "internal compiler error: in purge_dead_edges, at cfgrtl.cc:3347";
        assert_eq!(file_of(site).as_deref(), Some("cfgrtl.cc"));
        assert_eq!(file_of("internal compiler error: Segmentation fault"), None);
        assert_eq!(during("a.c:1: error: x"), None);
    }
}

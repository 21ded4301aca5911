//! In which function the pass does harm: `-fdisable-<pass>=FUNCTION`.

use crate::Error;
use crate::culprit::gcc::passes::disable;
use crate::culprit::grouping;
use crate::probe::{Bench, files_in};

/// More functions than this are not told apart.
const MOST: usize = 512;

/// Functions tried at once at first.
const GROUP: usize = 32;

/// The function in which switching `pass` off cures, if it is one.
pub fn function(bench: &Bench<'_>, pass: &str) -> Result<Option<String>, Error> {
    let functions = ran_on(bench, pass)?;
    match functions.as_slice() {
        [] => return Ok(None),
        [one] => return Ok(Some(say(one.clone()))),
        many if many.len() > MOST => return Ok(None),
        _ => {}
    }
    let outcome = grouping::cures(functions.len(), GROUP, &mut |groups| {
        bench.report(&format!("{} functions", functions.len()));
        let sets: Vec<Vec<String>> = groups
            .iter()
            .map(|group| {
                let names: Vec<&str> = group
                    .iter()
                    .filter_map(|number| functions.get(*number))
                    .map(String::as_str)
                    .collect();
                vec![format!("{}={}", disable(pass), names.join(","))]
            })
            .collect();
        bench.test_all(&sets)
    })?;
    let names: Vec<&str> = outcome
        .cures
        .iter()
        .filter_map(|number| functions.get(*number))
        .map(String::as_str)
        .collect();
    Ok(match names.as_slice() {
        [] => None,
        names => Some(say(names.join(", "))),
    })
}

fn say(function: String) -> String {
    format!("function {function}")
}

/// The functions a pass ran on, from its own dump.
fn ran_on(bench: &Bench<'_>, pass: &str) -> Result<Vec<String>, Error> {
    let (kind, name) = pass.split_once('-').unwrap_or(("tree", pass));
    if kind == "ipa" {
        return Ok(Vec::new());
    }
    let flags = [&format!("-fdump-{kind}-{name}"), "-S", "-o", "program.s"].map(str::to_owned);
    let (_, directory) = bench.compile(&flags)?;
    let dump = files_in(directory.path())
        .into_iter()
        .find(|file| file.rsplit('.').next() == Some(name));
    let Some(dump) = dump else {
        return Ok(Vec::new());
    };
    let text = std::fs::read(directory.path().join(dump)).unwrap_or_default();
    Ok(functions(&String::from_utf8_lossy(&text)))
}

/// Assembler names in a dump: ";; Function walk (walk, funcdef_no=0, ...".
fn functions(dump: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in dump.lines() {
        let name = line
            .strip_prefix(";; Function ")
            .and_then(|rest| rest.split_once(" ("))
            .and_then(|(_, rest)| rest.split([',', ')']).next());
        if let Some(name) = name
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_from_a_dump() {
        let dump = "\n;; Function walk (walk, funcdef_no=0, decl_uid=1983)\n;; 2 loops found\n\
            ;; Function main (main, funcdef_no=1, decl_uid=1990) (executed once)\n\
            ;; Function main (main, funcdef_no=1, decl_uid=1990) (executed once)\n";
        assert_eq!(functions(dump), ["walk", "main"]);
    }
}

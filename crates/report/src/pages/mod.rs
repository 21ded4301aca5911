//! The pages. Each file turns data into what its template shows; the templates are compiled in and escape
//! everything. A new page is one more file here and one more path in `site`.

pub(crate) mod conform;
pub(crate) mod finding;
pub(crate) mod isolate;
pub(crate) mod overview;
pub(crate) mod repair;
pub(crate) mod source;

use candor_check::Counts;
use candor_check::exhibit::SourceView;

use crate::Error;
use crate::data::{Dossier, Overview};
use crate::words::time;

/// The first page of a report.
pub fn overview_page(overview: &Overview, live: bool) -> Result<String, Error> {
    overview::render(overview, live)
}

/// The page of one finding.
pub fn finding_page(overview: &Overview, dossier: &Dossier, live: bool) -> Result<String, Error> {
    finding::render(overview, dossier, live)
}

/// The page of one build of a whole program, outside any campaign.
pub fn source_page(view: &SourceView) -> Result<String, Error> {
    source::render(view, Frame::alone(""), Vec::new())
}

/// What every page has around its content.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The way to the report's top folder: "" or "../".
    pub root: &'static str,
    /// Served, and followed by the script.
    pub live: bool,
    /// The store's revision.
    pub revision: u64,
    /// Top right.
    pub state: String,
    /// At the bottom.
    pub foot: String,
}

impl Frame {
    pub fn of(overview: &Overview, root: &'static str, live: bool) -> Frame {
        let seen = overview.seen.map(time).unwrap_or_default();
        let state = match (live, overview.running) {
            (true, true) => "live: the hunt is running".into(),
            (true, false) => "live: no hunt is running".into(),
            (false, true) => format!("as of {seen}, the hunt still running"),
            (false, false) => seen,
        };
        Frame {
            root,
            live,
            revision: overview.revision,
            state,
            foot: format!(
                "candor {}: every finding was confirmed by a second witness; what could not be confirmed is not here.",
                match overview.candor.as_str() {
                    "" => env!("CARGO_PKG_VERSION"),
                    version => version,
                }
            ),
        }
    }

    /// For a page that belongs to no campaign.
    pub fn alone(root: &'static str) -> Frame {
        Frame {
            root,
            live: false,
            revision: 0,
            state: String::new(),
            foot: format!("candor {}", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// How heavy a kind looks.
pub(crate) fn weight(kind: &str) -> &'static str {
    match kind {
        "miscompilation" | "crash" | "wrong-value" => "heavy",
        "ill-formed-location" => "ill",
        _ => "",
    }
}

/// One part of a bar of 1000 units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub class: &'static str,
    pub x: u64,
    pub width: u64,
}

/// Counts as the parts of a bar; whatever is there is at least a sliver wide.
pub(crate) fn share(counts: &Counts) -> Vec<Part> {
    let quiet = counts.optimised_out + counts.unreadable + counts.unaligned;
    let amounts = [
        ("wrong", counts.wrong),
        ("ill", counts.ill_formed),
        ("out", quiet),
        ("equal", counts.equal),
    ];
    let total = counts.total();
    let mut parts = Vec::new();
    let mut x = 0;
    for (class, amount) in amounts.into_iter().filter(|(_, amount)| *amount > 0) {
        let exact = u128::from(amount) * 1000 / u128::from(total.max(1));
        let width = u64::try_from(exact).unwrap_or(1000).max(30).min(1000 - x);
        parts.push(Part { class, x, width });
        x += width;
    }
    // rounding and slivers: the last one takes what is left
    if let Some(last) = parts.last_mut() {
        last.width = 1000 - last.x;
    }
    parts
}

/// Counts in words: `12 equal, 3 optimised out, 1 wrong`.
pub(crate) fn counts_words(counts: &Counts) -> String {
    let parts: Vec<String> = [
        (counts.equal, "equal"),
        (counts.optimised_out, "optimised out"),
        (counts.wrong, "wrong"),
        (counts.ill_formed, "ill-formed"),
        (counts.unreadable, "unreadable"),
        (counts.unaligned, "unaligned"),
    ]
    .into_iter()
    .filter(|(amount, _)| *amount > 0)
    .map(|(amount, word)| format!("{} {word}", crate::words::number(amount)))
    .collect();
    match parts.is_empty() {
        true => "no values".into(),
        false => parts.join(", "),
    }
}

/// The class of a line: the worst of what is there.
pub(crate) fn line_class(counts: &Counts) -> &'static str {
    if counts.wrong > 0 {
        "wrong"
    } else if counts.ill_formed > 0 {
        "ill"
    } else if counts.optimised_out + counts.unreadable + counts.unaligned > 0 {
        "out"
    } else if counts.equal > 0 {
        "equal"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_whole_and_show_slivers() {
        let counts = Counts {
            equal: 100_000,
            wrong: 1,
            ..Counts::default()
        };
        let parts = share(&counts);
        assert_eq!(parts[0].class, "wrong");
        assert_eq!(parts[0].width, 30);
        assert_eq!(parts.iter().map(|part| part.width).sum::<u64>(), 1000);
        assert!(share(&Counts::default()).is_empty());
        let many = Counts {
            equal: 1,
            optimised_out: 1,
            wrong: u64::MAX / 8,
            ill_formed: 1,
            unaligned: 0,
            unreadable: 0,
            misplaced: 0,
        };
        assert_eq!(
            share(&many).iter().map(|part| part.width).sum::<u64>(),
            1000
        );
    }
}

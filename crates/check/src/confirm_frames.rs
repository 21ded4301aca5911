//! Wrong lines and frames before anything is reported: the backtraces of every debugger there is must show what the
//! native engine saw, in the same frame. Where one shows something else, it cannot be said that the debug information
//! is wrong. No print statement bears it out: which line and functions are right is in the source.

use std::collections::BTreeMap;

use candor_dwarf::Image;
use candor_tracer::{Query, SessionOutcome, TracedFrame};

use crate::Error;
use crate::compare::{Candidate, Suspect};
use crate::confirm::{Compared, Court, Verdict, death, debugger_name, query, without_leaves};
use crate::finding::{Finding, Kind};
use crate::frames::FrameClue;
use crate::truth::launch;
use crate::workshop::Executable;

/// By debugger: what it shows, or why it shows nothing.
type Shown = BTreeMap<String, Result<Vec<TracedFrame>, String>>;

impl Court<'_> {
    /// Decides those suspects that are about lines and frames; the others' verdicts are left alone.
    pub(crate) fn decide_frames(
        &self,
        compared: &Compared<'_>,
        suspects: &[&Suspect],
        (executable, image): (&Executable, &Image),
        verdicts: &mut [Option<Verdict>],
    ) -> Result<(), Error> {
        let all = || {
            let candidates = (0..).zip(suspects).flat_map(|(place, suspect)| {
                suspect.candidates.iter().map(move |c| (place, *suspect, c))
            });
            candidates.filter_map(|(place, suspect, c)| Some((place, suspect, c, c.clue.as_ref()?)))
        };
        let queries: Vec<Query> = all()
            .map(|(_, _, c, _)| without_leaves(&query(c)))
            .collect();
        if queries.is_empty() {
            return Ok(());
        }
        let frames = all().map(|(_, _, _, clue)| clue.depth + 1).max();
        let shown = self.backtraces(&queries, frames.unwrap_or(1), (executable, image))?;
        for ((place, suspect, candidate, clue), shown) in all().zip(shown) {
            let Some(slot) = verdicts.get_mut(place) else {
                continue;
            };
            match contradiction(clue, &shown) {
                None if !matches!(slot, Some(Ok(_))) => {
                    let finding = self.frame_finding(compared, suspect, candidate, clue, &shown);
                    *slot = Some(Ok(vec![finding]));
                }
                // the first reason is the one to tell
                Some(reason) if slot.is_none() => {
                    *slot = Some(Err(self.undecided(compared, candidate, reason)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn backtraces(
        &self,
        queries: &[Query],
        frames: usize,
        (executable, image): (&Executable, &Image),
    ) -> Result<Vec<Shown>, Error> {
        let launch = launch(executable, self.program, self.settings);
        let limit = self.settings.debugger_time();
        let mut shown: Vec<Shown> = queries.iter().map(|_| Shown::new()).collect();
        for debugger in self.debuggers {
            let sandbox = self.workshop.sandbox;
            let session = debugger.backtraces(sandbox, image, &launch, queries, frames, limit)?;
            let why = match &session.outcome {
                SessionOutcome::Finished => "it does not get there".to_owned(),
                other => death(other).unwrap_or_default(),
            };
            let traces = session.backtraces.into_iter();
            for (map, trace) in shown.iter_mut().zip(traces) {
                map.insert(debugger_name(debugger), trace.ok_or_else(|| why.clone()));
            }
        }
        Ok(shown)
    }

    fn frame_finding(
        &self,
        compared: &Compared<'_>,
        suspect: &Suspect,
        candidate: &Candidate,
        clue: &FrameClue,
        shown: &Shown,
    ) -> Finding {
        let mut finding = self.finding(compared, suspect, candidate, &BTreeMap::new());
        let is_line = candidate.kind == Kind::WrongLine;
        let text = |frame: &TracedFrame| match is_line {
            true => frame.line.to_string(),
            false => frame.to_string(),
        };
        finding.expected = text(&clue.expected);
        finding.shown = text(&clue.shown);
        finding.frame = u16::try_from(clue.depth).unwrap_or(u16::MAX);
        finding.confirmed_by = vec!["native".into()];
        finding.confirmed_by.extend(shown.keys().cloned());
        finding.debuggers = shown
            .iter()
            .map(|(name, trace)| (name.clone(), words(trace, clue.depth)))
            .collect();
        finding.signature.variable = if is_line { "line" } else { "frame" }.into();
        let relation = match (clue.merged, clue.expected.function == clue.shown.function) {
            (true, _) => "merged",
            (false, true) => "other line",
            (false, false) => "other function",
        };
        finding.signature.relation = relation.into();
        if clue.merged {
            finding.notes.push(
                "one call instruction stands for several calls of the source: its line is right for one of them only"
                    .into(),
            );
        }
        finding.notes.push(
            "no print statement shows a line or a frame; gdb's and lldb's backtraces do".into(),
        );
        finding
    }
}

/// Why the debuggers do not bear it out, if they do not.
fn contradiction(clue: &FrameClue, shown: &Shown) -> Option<String> {
    if shown.is_empty() {
        return Some("no debugger was asked".into());
    }
    let agrees = |trace: &Result<Vec<TracedFrame>, String>| {
        trace.as_ref().ok().and_then(|trace| trace.get(clue.depth)) == Some(&clue.shown)
    };
    if shown.values().all(agrees) {
        return None;
    }
    let said: Vec<String> = shown
        .iter()
        .map(|(name, trace)| format!("{name} shows {}", words(trace, clue.depth)))
        .collect();
    Some(format!(
        "the native engine sees {} in frame {}, and not every debugger does ({})",
        clue.shown,
        clue.depth,
        said.join(", ")
    ))
}

fn words(trace: &Result<Vec<TracedFrame>, String>, depth: usize) -> String {
    match trace {
        Ok(trace) => match trace.get(depth) {
            Some(frame) => frame.to_string(),
            None => "no such frame".into(),
        },
        Err(why) => format!("nothing: {why}"),
    }
}

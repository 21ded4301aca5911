//! Delta debugging over the edits a pass offers: large groups first, then halves, down to single ones.
//!
//! Zeller and Hildebrandt's ddmin without its complements (an edit that was refused alone is not
//! tried in company again), applied level by level as in Misherghi and Su's hierarchical variant.
//!
//! Where the strict predicate costs more than the quick one (sanitizers), a sweep asks the quick one and
//! has its result borne out by the strict one; a sweep that went astray is done again, strictly.

use crate::edit::{Edit, apply};
use crate::jury::{Jury, Size, Stop};
use crate::layout::layout;
use crate::tidy::tidy;

/// Whether candidates may be as large as what they are made from, or larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Every success is smaller.
    Never,
    /// A success may grow the program by so many tokens: an inlined function goes away later.
    UpTo(usize),
}

/// The best program so far, and who decides on others.
pub struct Session<'j, 'a> {
    /// Decides.
    pub jury: &'j Jury<'a>,
    /// The best so far, laid out.
    pub best: String,
    /// Whether texts are laid out anew; not when the finding hangs on the original's lines.
    pub relayout: bool,
    /// Decides the order in which edits are tried; 0 is the order of the pass.
    pub seed: u64,
    /// The best that the strict predicate bore out.
    pub sound: String,
    /// Steps since then; `None` when it refused.
    steps: Option<usize>,
}

/// A line of Rust with its indentation, and elsewhere single blanks, none before a semicolon; strings as they are.
fn single_blanks(line: &str) -> String {
    let line = line.trim_end();
    let rest = line.trim_start();
    let mut out = line[..line.len() - rest.len()].to_owned();
    let (mut quoted, mut escaped) = (false, false);
    for c in rest.chars() {
        match c {
            ' ' if !quoted && out.ends_with(' ') => continue,
            ';' if !quoted => out.truncate(out.trim_end().len()),
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// Steps after which the strict predicate is asked in the middle of a sweep: Ctrl-C loses no more.
const STEPS: usize = 12;

impl<'j, 'a> Session<'j, 'a> {
    /// Starts from `text`, which the claim is known to hold for.
    pub fn new(jury: &'j Jury<'a>, text: &str, seed: u64) -> Self {
        Session {
            jury,
            best: text.to_owned(),
            relayout: false,
            seed,
            sound: text.to_owned(),
            steps: Some(0),
        }
    }

    /// A text as it is tested.
    pub fn form(&self, text: &str) -> String {
        if self.jury.program.is_rust() {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines
                .map(|line| format!("{}\n", single_blanks(line)))
                .collect()
        } else if self.relayout {
            layout(&tidy(text))
        } else {
            tidy(text)
        }
    }

    /// Tries the given texts in order; takes the first that holds.
    pub fn try_texts(&mut self, texts: &[String], growth: Growth) -> Result<bool, Stop> {
        self.soundly(|session| session.texts_once(texts, growth))
    }

    fn texts_once(&mut self, texts: &[String], growth: Growth) -> Result<bool, Stop> {
        let make = |index: usize| {
            let text = self.form(texts.get(index)?);
            self.smaller(&text, growth).then_some(text)
        };
        match self.jury.first(texts.len(), &make)? {
            Some((_, text)) => {
                self.take(text)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Whether there is no point in going on: a step was refused by the strict predicate.
    fn astray(&self) -> bool {
        self.steps.is_none()
    }

    /// Goes on from `text`.
    pub fn take(&mut self, text: String) -> Result<(), Stop> {
        self.jury.moved_to(&text);
        self.best = text;
        self.steps = self.steps.map(|steps| steps + 1);
        if self.steps == Some(STEPS) {
            self.bear_out()?;
        }
        Ok(())
    }

    /// Asks the strict predicate about the best so far.
    fn bear_out(&mut self) -> Result<(), Stop> {
        if self.jury.holds_strictly(&self.best)? {
            self.sound.clone_from(&self.best);
            self.steps = Some(0);
        } else {
            self.steps = None;
        }
        Ok(())
    }

    /// Runs a sweep whose result the strict predicate bears out.
    fn soundly(&mut self, sweep: impl Fn(&mut Self) -> Result<bool, Stop>) -> Result<bool, Stop> {
        let before = self.best.clone();
        let changed = sweep(self)?;
        if !changed {
            return Ok(false);
        }
        if !self.astray() {
            self.bear_out()?;
        }
        if !self.astray() {
            return Ok(true);
        }
        self.steps = Some(0);
        self.best = before;
        self.jury.moved_to(&self.best);
        self.jury.be_strict(true);
        let again = sweep(self);
        self.jury.be_strict(false);
        self.sound.clone_from(&self.best);
        self.steps = Some(0);
        again
    }

    fn smaller(&self, text: &str, growth: Growth) -> bool {
        if text == self.best {
            return false;
        }
        let (new, old) = (Size::of(text), Size::of(&self.best));
        match growth {
            Growth::Never => (new.tokens, new.bytes) < (old.tokens, old.bytes),
            Growth::UpTo(more) => new.tokens <= old.tokens + more,
        }
    }

    /// Applies as many of `edits` (of the present best text) as the predicate bears; true when any.
    pub fn sweep(&mut self, edits: Vec<Edit>, growth: Growth) -> Result<bool, Stop> {
        self.soundly(|session| session.sweep_once(edits.clone(), growth))
    }

    fn sweep_once(&mut self, edits: Vec<Edit>, growth: Growth) -> Result<bool, Stop> {
        let base = self.best.clone();
        let mut alive: Vec<Edit> = edits;
        if self.seed != 0 {
            fastrand::Rng::with_seed(self.seed).shuffle(&mut alive);
        }
        let mut taken: Vec<Edit> = Vec::new();
        let mut chunk = alive.len();
        while chunk >= 1 {
            let mut at = 0;
            while at < alive.len() {
                let groups: Vec<&[Edit]> = alive.get(at..).unwrap_or(&[]).chunks(chunk).collect();
                let make = |index: usize| {
                    let group = groups.get(index)?;
                    let text = self.form(&apply(&base, taken.iter().chain(group.iter()))?);
                    self.smaller(&text, growth).then_some(text)
                };
                let Some((index, text)) = self.jury.first(groups.len(), &make)? else {
                    break;
                };
                let from = at + index * chunk;
                let to = (from + chunk).min(alive.len());
                taken.extend(alive.drain(from..to));
                at = from;
                self.take(text)?;
                if self.astray() {
                    return Ok(true);
                }
            }
            if chunk == 1 {
                break;
            }
            chunk = chunk.min(alive.len().max(1)).div_ceil(2);
        }
        Ok(!taken.is_empty())
    }

    /// As [`Self::sweep`], each edit on its own: for alternatives that exclude each other.
    pub fn one_by_one(&mut self, edits: Vec<Edit>, growth: Growth) -> Result<bool, Stop> {
        self.soundly(|session| session.one_by_one_once(&edits, growth))
    }

    fn one_by_one_once(&mut self, edits: &[Edit], growth: Growth) -> Result<bool, Stop> {
        let base = self.best.clone();
        let mut taken: Vec<Edit> = Vec::new();
        let mut at = 0;
        while at < edits.len() {
            let rest = edits.get(at..).unwrap_or(&[]);
            let make = |index: usize| {
                let edit = rest.get(index)?;
                let text = self.form(&apply(&base, taken.iter().chain([edit]))?);
                self.smaller(&text, growth).then_some(text)
            };
            let Some((index, text)) = self.jury.first(rest.len(), &make)? else {
                break;
            };
            taken.extend(rest.get(index).cloned());
            at += index + 1;
            self.take(text)?;
            if self.astray() {
                return Ok(true);
            }
        }
        Ok(!taken.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::single_blanks;

    #[test]
    fn blanks_that_edits_leave_go() {
        assert_eq!(single_blanks("    let    a =  1 ; "), "    let a = 1;");
        let text = r#"  f("a  \"  ;",  b) ;"#;
        assert_eq!(single_blanks(text), r#"  f("a  \"  ;", b);"#);
    }
}

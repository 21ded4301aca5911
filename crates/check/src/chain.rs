//! Two chains of functions that have not returned: what the unoptimised build was in, and what the optimised build
//! shows. They need not be equal where nothing is wrong: tail calls leave no frame, recursion becomes a loop, equal
//! functions share their code, a function is split. Whatever can be explained so, or cannot be told, is no difference.

use candor_dwarf::{Chain, ChainEnd, ChainFrame, Line, Way};

/// What comes of comparing two chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// So many functions from the innermost on are the same, at the same line, at the same depth.
    pub same: usize,
    /// Which frames were held against each other: expected, shown. The last pair may be the one that differs.
    pub pairs: Vec<(usize, usize)>,
    pub outcome: Outcome,
}

impl Agreement {
    /// Whether the innermost frame itself is wrong.
    pub(crate) fn is_misplaced(&self) -> bool {
        let differs = matches!(self.outcome, Outcome::Line | Outcome::Function);
        differs && self.pairs.last().is_some_and(|(_, shown)| *shown == 0)
    }
}

/// See [`Agreement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As far as both go.
    Same,
    /// The innermost frame belongs to no line.
    NoLine,
    /// They differ, and it may be right that they do.
    Undecided(Doubt),
    /// The last pair has different lines.
    Line,
    /// The last pair has different functions.
    Function,
}

/// Why a difference is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    TailCall,
    Recursion,
    Folded,
    Indirect,
    NoLine,
    Ends,
}

/// What is known besides the chains.
pub(crate) struct Circumstances<'c> {
    /// Whether the references agree on the line of an expected frame.
    pub is_certain: &'c dyn Fn(usize) -> bool,
    /// Whether two functions may share the code of one of them (identical code folding).
    pub may_fold: &'c dyn Fn(&str, &str) -> bool,
}

/// Holds what is shown against what is expected, from the innermost frame on.
pub(crate) fn agree(expected: &Chain, shown: &Chain, around: &Circumstances<'_>) -> Agreement {
    let mut walk = Walk {
        expected: &expected.frames,
        shown: &shown.frames,
        agreement: Agreement {
            same: 0,
            pairs: Vec::new(),
            outcome: Outcome::Same,
        },
        is_plain: true,
    };
    let mut at = 0;
    for (place, got) in shown.frames.iter().enumerate() {
        let Some(want) = expected.frames.get(at) else {
            // a frame above the outermost one that has debug information
            if expected.end == ChainEnd::Outside {
                walk.agreement.outcome = Outcome::Undecided(Doubt::Ends);
            }
            break;
        };
        match walk.meet(at, want, place, got, around) {
            Meeting::Same => at += 1,
            Meeting::At(other) => at = other + 1,
            Meeting::Passed => {}
            Meeting::End(outcome) => {
                walk.agreement.outcome = outcome;
                break;
            }
        }
    }
    walk.agreement
}

struct Walk<'c> {
    expected: &'c [ChainFrame],
    shown: &'c [ChainFrame],
    agreement: Agreement,
    /// Nothing was passed over so far: equal depths are the same frame.
    is_plain: bool,
}

/// What comes of two frames.
enum Meeting {
    /// They are the same.
    Same,
    /// The shown one is this expected one; those between left no frame.
    At(usize),
    /// The shown one is an artefact and stands for none.
    Passed,
    End(Outcome),
}

impl Walk<'_> {
    fn meet(
        &mut self,
        at: usize,
        want: &ChainFrame,
        place: usize,
        got: &ChainFrame,
        around: &Circumstances<'_>,
    ) -> Meeting {
        if place == 0 && got.line.is_none() {
            return Meeting::End(Outcome::NoLine);
        }
        if want.function == got.function {
            let line = want.line.filter(|_| (around.is_certain)(at));
            return self.weigh_lines(at, line, place, got);
        }
        if let Some(below) = place.checked_sub(1).and_then(|below| self.shown.get(below)) {
            let others = self.explanations(at, below, got);
            match others.as_slice() {
                [one] => {
                    self.is_plain = false;
                    // what is said of a frame after a gap is believed only where it fits
                    let fits = self.expected.get(*one).map(|frame| frame.line) == Some(got.line);
                    return if fits {
                        self.agreement.pairs.push((*one, place));
                        Meeting::At(*one)
                    } else {
                        Meeting::End(Outcome::Undecided(Doubt::TailCall))
                    };
                }
                [] => {}
                _ => return Meeting::End(Outcome::Undecided(Doubt::Recursion)),
            }
            // a function that was split: its rest, called by its beginning; neither need have code of its own
            if below.function == got.function {
                self.is_plain = false;
                return Meeting::Passed;
            }
            match &got.way {
                Way::Jump(_) => return Meeting::End(Outcome::Undecided(Doubt::TailCall)),
                Way::Unknown => return Meeting::End(Outcome::Undecided(Doubt::Indirect)),
                Way::Call | Way::Inlined => {}
            }
            if got.line.is_none() {
                return Meeting::End(Outcome::Undecided(Doubt::NoLine));
            }
        }
        if (around.may_fold)(&want.function, &got.function) {
            return Meeting::End(Outcome::Undecided(Doubt::Folded));
        }
        if !self.is_plain {
            return Meeting::End(Outcome::Undecided(Doubt::TailCall));
        }
        self.agreement.pairs.push((at, place));
        Meeting::End(Outcome::Function)
    }

    /// Of two frames of one function.
    fn weigh_lines(
        &mut self,
        at: usize,
        want: Option<Line>,
        place: usize,
        got: &ChainFrame,
    ) -> Meeting {
        // where the line table has two lines for one address, either will do
        let is_other = want.is_some() && want == got.other_line;
        let differ =
            matches!((want, got.line), (Some(want), Some(got)) if want != got) && !is_other;
        let below = place.checked_sub(1).and_then(|below| self.shown.get(below));
        let others = below.map(|below| self.explanations(at, below, got));
        let is_recursive = others.is_some_and(|others| !others.is_empty());
        if differ {
            if is_recursive {
                return Meeting::End(Outcome::Undecided(Doubt::Recursion));
            }
            let doubtful = below.is_some() && matches!(got.way, Way::Jump(_));
            if doubtful || !self.is_plain {
                return Meeting::End(Outcome::Undecided(Doubt::TailCall));
            }
        }
        // of a recursion that may have become a loop in part, nobody knows which call it is
        self.is_plain &= !is_recursive;
        self.agreement.pairs.push((at, place));
        if differ {
            return Meeting::End(Outcome::Line);
        }
        let certain = want.is_some() && (want == got.line || is_other);
        if self.is_plain && certain && self.agreement.same == place {
            self.agreement.same += 1;
        }
        Meeting::Same
    }

    /// The expected frames further up that the shown one may be, if those before it left no frame of their own.
    fn explanations(&self, at: usize, below: &ChainFrame, got: &ChainFrame) -> Vec<usize> {
        let entered = match &got.way {
            // it called the function that is below, or what that was before it became a loop
            Way::Call | Way::Inlined => Some(&below.function),
            Way::Jump(called) => Some(called),
            Way::Unknown => None,
        };
        let later = self.expected.iter().enumerate().skip(at + 1);
        later
            .filter(|(_, frame)| frame.function == got.function)
            .filter(|(place, _)| {
                let before = self.expected.get(place - 1);
                entered.is_none_or(|entered| before.is_some_and(|f| f.function == *entered))
            })
            .map(|(place, _)| place)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_dwarf::Svma;
    use std::sync::Arc;

    /// `f:12 main:30`, innermost first; `f<main:30` inlines f, `f>` tells of a jump to it: `main:30>g` called g,
    /// `main:30?` called nobody knows whom, `:0` is no line.
    fn chain(words: &str) -> Chain {
        let mut physical = 0;
        let frames = words.split(' ').enumerate().map(|(place, word)| {
            let (inlined, word) = match word.strip_prefix('<') {
                Some(rest) => (true, rest),
                None => (false, word),
            };
            let (word, way) = match word.split_once('>') {
                Some((word, called)) => (word, Way::Jump(Arc::from(called))),
                None if inlined => (word, Way::Inlined),
                None => match word.strip_suffix('?') {
                    Some(word) => (word, Way::Unknown),
                    None => (word, Way::Call),
                },
            };
            let (function, line) = word.split_once(':').unwrap();
            physical += u16::from(place > 0 && !inlined);
            ChainFrame {
                function: Arc::from(function),
                line: Some(line.parse().unwrap())
                    .filter(|line| *line != 0)
                    .map(Line),
                other_line: None,
                way,
                physical,
                pc: Svma(0),
            }
        });
        Chain {
            frames: frames.collect(),
            end: ChainEnd::Outside,
        }
    }

    fn compare(expected: &str, shown: &str) -> (usize, Outcome) {
        let circumstances = Circumstances {
            is_certain: &|_| true,
            may_fold: &|a, b| (a, b) == ("one", "two"),
        };
        let agreement = agree(&chain(expected), &chain(shown), &circumstances);
        (agreement.same, agreement.outcome)
    }

    fn undecided(doubt: Doubt) -> Outcome {
        Outcome::Undecided(doubt)
    }

    #[test]
    fn equal_chains_agree_however_much_is_inlined() {
        let expected = "f:12 g:20 main:30";
        for shown in [
            "f:12 g:20 main:30",
            "f:12 <g:20 main:30",
            "f:12 <g:20 <main:30",
        ] {
            assert_eq!(compare(expected, shown), (3, Outcome::Same), "{shown}");
        }
    }

    #[test]
    fn wrong_lines_and_functions_are_seen() {
        assert_eq!(compare("f:12 main:30", "f:13 main:30"), (0, Outcome::Line));
        assert_eq!(compare("f:12 main:30", "f:12 main:31"), (1, Outcome::Line));
        assert_eq!(compare("f:12 main:30", "f:12 <main:31"), (1, Outcome::Line));
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 <h:20 main:30"),
            (1, Outcome::Function)
        );
        // the instance of g is missing although the call names f
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 main:30"),
            (1, Outcome::Function)
        );
        assert_eq!(compare("f:12 main:30", "main:12"), (0, Outcome::Function));
        // one too many
        assert_eq!(
            compare("f:12 main:30", "f:12 <g:20 main:30"),
            (1, Outcome::Function)
        );
    }

    #[test]
    fn no_line_is_no_wrong_line() {
        assert_eq!(compare("f:12 main:30", "f:0 main:30"), (0, Outcome::NoLine));
        assert_eq!(compare("f:12 main:30", "main:0"), (0, Outcome::NoLine));
        assert_eq!(compare("f:12 main:30", "f:12 main:0"), (1, Outcome::Same));
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 main:0"),
            (1, undecided(Doubt::NoLine))
        );
    }

    #[test]
    fn tail_calls_leave_no_frame() {
        // main calls g, which jumps to f
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 main:30>g"),
            (1, Outcome::Same)
        );
        // a jump that leads to what is not known
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 main:30>h"),
            (1, undecided(Doubt::TailCall))
        );
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 main:31>g"),
            (1, undecided(Doubt::TailCall))
        );
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 main:31?"),
            (1, undecided(Doubt::TailCall))
        );
        assert_eq!(
            compare("f:12 g:20 main:30", "f:12 h:31?"),
            (1, undecided(Doubt::Indirect))
        );
        // the frame that main would have had
        assert_eq!(compare("f:12 main:30", "f:12"), (1, Outcome::Same));
    }

    #[test]
    fn recursion_may_become_a_loop() {
        let expected = "f:12 f:14 f:14 main:30";
        assert_eq!(compare(expected, "f:12 main:30"), (1, Outcome::Same));
        assert_eq!(compare(expected, "f:12 <main:30"), (1, Outcome::Same));
        assert_eq!(
            compare("f:12 f:14 f:15 main:30", "f:12 f:15 main:30"),
            (1, undecided(Doubt::Recursion))
        );
        let mutual = "g:5 f:14 g:6 f:14 main:30";
        assert_eq!(
            compare(mutual, "g:5 <f:14 main:30"),
            (1, Outcome::Same),
            "g is inlined into f, which became a loop"
        );
    }

    #[test]
    fn of_a_recursion_nobody_knows_which_call_it_is() {
        let chain = "f:12 f:14 f:14 main:30";
        assert_eq!(compare(chain, chain), (1, Outcome::Same));
        assert_eq!(compare("f:12 main:30", "f:12 main:30"), (2, Outcome::Same));
    }

    #[test]
    fn shared_and_split_code_is_no_fault() {
        assert_eq!(
            compare("one:3 main:30", "two:9 main:30"),
            (0, undecided(Doubt::Folded))
        );
        assert_eq!(
            compare("f:12 main:30", "f:12 <f:10 main:30"),
            (1, Outcome::Same)
        );
        assert_eq!(
            compare("f:12 main:30", "f:12 f:10 <main:30"),
            (1, Outcome::Same)
        );
    }

    #[test]
    fn lines_that_the_references_doubt_are_not_compared() {
        let circumstances = Circumstances {
            is_certain: &|frame| frame != 1,
            may_fold: &|_, _| false,
        };
        let (expected, shown) = (chain("f:12 g:20 main:30"), chain("f:12 g:21 main:31"));
        let agreement = agree(&expected, &shown, &circumstances);
        assert_eq!((agreement.same, agreement.outcome), (1, Outcome::Line));
        assert_eq!(agreement.pairs, [(0, 0), (1, 1), (2, 2)]);
    }
}

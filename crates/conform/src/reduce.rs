//! A smaller input for a site: whatever can go while the same site is still reported.
//!
//! Works on IR text (bitcode is turned into it before), from large to small: functions and other top-level entities, then instructions
//! nobody needs, then instructions whose uses can be `undef`, then conditional branches. The library
//! itself says whether what is left is IR; every attempt is a run like any other.

use candor_llvm::Run;

use crate::Error;

/// How much effort to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Runs at most.
    pub attempts: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { attempts: 600 }
    }
}

/// Reduces the input of `run`; `holds` says whether a candidate still shows the site.
pub fn reduce(
    run: &Run,
    budget: Budget,
    holds: &mut dyn FnMut(&Run) -> Result<bool, Error>,
) -> Result<Run, Error> {
    let Ok(text) = String::from_utf8(run.input.clone()) else {
        return Ok(run.clone());
    };
    let mut state = State {
        run: run.clone(),
        left: budget.attempts,
        holds,
    };
    let text = without_comments(&text);
    let mut text = match state.try_text(&text)? {
        true => text,
        false => return Ok(run.clone()),
    };
    loop {
        let before = text.len();
        text = state.remove_entities(text)?;
        text = state.remove_lines(text)?;
        text = state.replace_values(text)?;
        text = state.straighten(text)?;
        if text.len() >= before || state.left == 0 {
            break;
        }
    }
    Ok(Run {
        input: text.into_bytes(),
        ..run.clone()
    })
}

struct State<'a> {
    run: Run,
    left: usize,
    holds: &'a mut dyn FnMut(&Run) -> Result<bool, Error>,
}

impl State<'_> {
    fn try_text(&mut self, text: &str) -> Result<bool, Error> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.run.input = text.as_bytes().to_vec();
        (self.holds)(&self.run)
    }

    /// Delta debugging over parts: halves, quarters, ... single ones.
    fn minimise(
        &mut self,
        mut parts: Vec<String>,
        removable: fn(&str) -> bool,
    ) -> Result<Vec<String>, Error> {
        let mut size = parts.len().div_ceil(2).max(1);
        loop {
            let mut first = 0;
            while first < parts.len() && self.left > 0 {
                let last = (first + size).min(parts.len());
                let fits = parts
                    .get(first..last)
                    .is_some_and(|range| range.iter().any(|part| removable(part)));
                let kept: Vec<String> = parts
                    .iter()
                    .enumerate()
                    .filter(|(index, part)| !(first..last).contains(index) || !removable(part))
                    .map(|(_, part)| part.clone())
                    .collect();
                if fits && self.try_text(&kept.concat())? {
                    parts = kept;
                } else {
                    first = last;
                }
            }
            if size == 1 || self.left == 0 {
                return Ok(parts);
            }
            size = size.div_ceil(2);
        }
    }

    fn remove_entities(&mut self, text: String) -> Result<String, Error> {
        let parts = self.minimise(entities(&text), |_| true)?;
        Ok(parts.concat())
    }

    fn remove_lines(&mut self, text: String) -> Result<String, Error> {
        let lines = text.split_inclusive('\n').map(str::to_owned).collect();
        let is_instruction = |line: &str| line.starts_with([' ', '\t']) && line.trim() != "}";
        Ok(self.minimise(lines, is_instruction)?.concat())
    }

    /// Takes an instruction away and lets its users use `undef`.
    fn replace_values(&mut self, mut text: String) -> Result<String, Error> {
        let names: Vec<String> = text
            .lines()
            .filter_map(|line| line.trim().split_once(" = "))
            .map(|(name, _)| name.to_owned())
            .filter(|name| name.starts_with('%') && !name.contains(' '))
            .collect();
        for name in names {
            if self.left == 0 {
                break;
            }
            let definition = format!("{name} = ");
            let kept: String = text
                .split_inclusive('\n')
                .filter(|line| !line.trim_start().starts_with(&definition))
                .map(|line| replace_word(line, &name, "undef"))
                .collect();
            if self.try_text(&kept)? {
                text = kept;
            }
        }
        Ok(text)
    }

    /// Makes conditional branches unconditional.
    fn straighten(&mut self, mut text: String) -> Result<String, Error> {
        let count = text.lines().filter(|line| is_conditional(line)).count();
        for number in (0..count).rev() {
            for arm in [0, 1] {
                if self.left == 0 {
                    return Ok(text);
                }
                if let Some(kept) = with_one_arm(&text, number, arm)
                    && self.try_text(&kept)?
                {
                    text = kept;
                    break;
                }
            }
        }
        Ok(text)
    }
}

fn without_comments(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim_start().starts_with(';') && !line.trim().is_empty())
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Functions as wholes, everything else line by line.
fn entities(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        match (inside, parts.last_mut()) {
            (true, Some(part)) => part.push_str(line),
            _ => parts.push(line.to_owned()),
        }
        if line.starts_with("define") {
            inside = true;
        } else if line.starts_with('}') {
            inside = false;
        }
    }
    parts
}

fn is_conditional(line: &str) -> bool {
    line.trim_start().starts_with("br i1 ")
}

/// The text with conditional branch `number` going one way only.
fn with_one_arm(text: &str, number: usize, arm: usize) -> Option<String> {
    let mut seen = 0;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if is_conditional(line) {
            if seen == number {
                let target = line.split("label ").nth(arm + 1)?;
                let target = target.split([',', ' ', '\n']).next()?;
                kept.push_str(&format!("  br label {target}\n"));
                seen += 1;
                continue;
            }
            seen += 1;
        }
        kept.push_str(line);
    }
    Some(kept)
}

/// Replaces a value name where it is not part of a longer one.
fn replace_word(line: &str, name: &str, by: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(name) {
        let (before, found) = rest.split_at(at);
        let after = &found[name.len()..];
        let longer = after.starts_with(|c: char| c.is_alphanumeric() || "._-$".contains(c));
        result.push_str(before);
        result.push_str(if longer { name } else { by });
        rest = after;
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "; a comment\ndeclare void @g()\ndefine i32 @unused() {\n  ret i32 0\n}\ndefine i32 @f(i32 %a, i1 %c) {\nentry:\n  %x = add i32 %a, 1\n  %y = mul i32 %x, 2\n  %keep = sub i32 %y, 3\n  br i1 %c, label %one, label %two\none:\n  ret i32 %keep\ntwo:\n  ret i32 0\n}\n";

    #[test]
    fn what_is_not_needed_goes() {
        let run = Run {
            input: TEXT.into(),
            ..Run::default()
        };
        let mut attempts = 0;
        let small = reduce(&run, Budget::default(), &mut |run| {
            attempts += 1;
            let text = String::from_utf8_lossy(&run.input);
            let needed = ["%keep = sub", "define i32 @f", "entry:"];
            // As the library would: what is used is defined.
            let defined = |name: &str| !text.contains(name) || text.contains(&format!("{name} = "));
            Ok(needed.iter().all(|part| text.contains(part)) && defined("%x") && defined("%y"))
        })
        .unwrap();
        let text = String::from_utf8(small.input).unwrap();
        assert!(text.contains("%keep = sub i32 undef, 3"), "{text}");
        assert!(!text.contains("unused") && !text.contains("mul"), "{text}");
        assert!(attempts <= Budget::default().attempts);
    }

    #[test]
    fn names_are_replaced_as_wholes() {
        assert_eq!(
            replace_word("add %x, %x.1 %x", "%x", "undef"),
            "add undef, %x.1 undef"
        );
    }

    #[test]
    fn branches_take_one_arm() {
        let one = with_one_arm(TEXT, 0, 1).unwrap();
        assert!(one.contains("  br label %two\n"), "{one}");
        assert_eq!(with_one_arm("br i1 %c\n", 0, 1), None);
    }
}

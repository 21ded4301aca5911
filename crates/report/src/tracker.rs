//! A finding as the text that a compiler's maintainers want: who, which command, which program, what should be,
//! what is, which pass, which releases.

use std::fmt::Write as _;

use candor_check::exhibit::State;
use candor_predicate::Claim;

use crate::data::Dossier;

/// Whose tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracker {
    /// GCC's Bugzilla: plain text.
    Gcc,
    /// LLVM's GitHub issues: Markdown.
    Llvm,
}

impl Tracker {
    /// From its name.
    pub fn parse(name: &str) -> Option<Tracker> {
        match name {
            "gcc" => Some(Tracker::Gcc),
            "llvm" => Some(Tracker::Llvm),
            _ => None,
        }
    }

    /// Where a finding of this compiler family goes.
    pub fn of(family: &str) -> Tracker {
        match family {
            "gcc" => Tracker::Gcc,
            _ => Tracker::Llvm,
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Tracker::Gcc => "GCC Bugzilla",
            Tracker::Llvm => "LLVM GitHub",
        }
    }
}

/// The text for a tracker.
pub fn tracker(dossier: &Dossier, tracker: Tracker) -> String {
    let report = BugReport::of(dossier);
    match tracker {
        Tracker::Gcc => report.bugzilla(),
        Tracker::Llvm => report.github(),
    }
}

/// What every tracker's text says, in its own form.
struct BugReport<'a> {
    dossier: &'a Dossier,
    title: String,
    keyword: &'static str,
    component: &'static str,
}

impl<'a> BugReport<'a> {
    fn of(dossier: &'a Dossier) -> Self {
        let entry = &dossier.entry;
        let variable = dossier
            .exhibit
            .as_ref()
            .and_then(|exhibit| exhibit.subject.as_ref())
            .map(|subject| subject.variable.as_str())
            .or_else(|| {
                let claim = &dossier.case.as_ref()?.claim;
                claim.subject().map(|subject| subject.variable.as_str())
            })
            .unwrap_or("a variable");
        let level = &entry.level;
        let what = match entry.kind.as_str() {
            "wrong-value" => format!("Wrong debug info: wrong value of '{variable}' at {level}"),
            "write-only-static" => {
                format!("Wrong debug info: stale value of static '{variable}' at {level}")
            }
            "ill-formed-location" => {
                format!("Invalid DWARF location expression for '{variable}' at {level}")
            }
            "wrong-line" => format!("Wrong debug info: wrong line of a call at {level}"),
            "wrong-frame" => format!("Wrong debug info: wrong backtrace at {level}"),
            "miscompilation" => format!("Wrong code at {level}"),
            "crash" => match &dossier.case {
                Some(case) => match &case.claim {
                    Claim::Crash { site } => format!("Compiler crash at {level}: {site}"),
                    _ => format!("Compiler crash at {level}"),
                },
                None => format!("Compiler crash at {level}"),
            },
            "hang" => format!("Compiler hang at {level}"),
            other => format!("{other} of '{variable}' at {level}"),
        };
        let culprit = dossier.culprit.as_ref();
        let title = match culprit {
            Some(culprit) => format!("{what} ({})", culprit.pass),
            None => what,
        };
        let (keyword, component) = match entry.kind.as_str() {
            "miscompilation" => ("wrong-code", "tree-optimization"),
            "crash" => ("ice-on-valid-code", "middle-end"),
            "hang" => ("compile-time-hog", "middle-end"),
            _ => ("wrong-debug", "debug"),
        };
        BugReport {
            dossier,
            title,
            keyword,
            component,
        }
    }

    fn program(&self) -> Option<(&str, &str)> {
        let case = self.dossier.case.as_ref()?;
        Some((&case.program.name, &case.program.text))
    }

    fn identity(&self) -> String {
        let exhibit = self.dossier.exhibit.as_ref();
        match exhibit.map(|exhibit| exhibit.build.identity.trim()) {
            Some(identity) if !identity.is_empty() => identity.to_owned(),
            _ => format!(
                "{} {}",
                self.dossier.entry.compiler, self.dossier.entry.version
            ),
        }
    }

    fn commands(&self) -> Vec<String> {
        match &self.dossier.exhibit {
            Some(exhibit) => exhibit.reproduction.commands.clone(),
            None => {
                let case = self.dossier.case.as_ref();
                let flags = case.map_or_else(String::new, |case| case.flags.join(" "));
                let file = self.program().map_or("program.c", |(name, _)| name);
                vec![format!("{} -g {flags} {file}", self.dossier.entry.compiler)]
            }
        }
    }

    /// Files that go with the program, such as the barrier and the debugger's commands.
    fn attachments(&self) -> Vec<(&str, &str)> {
        let files = self
            .dossier
            .exhibit
            .as_ref()
            .map_or(&[][..], |exhibit| &exhibit.reproduction.files);
        let used = self.commands().join("\n");
        files
            .iter()
            .filter(|(name, _)| used.contains(name.as_str()))
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect()
    }

    fn expected_and_actual(&self) -> (String, String) {
        let exhibit = self.dossier.exhibit.as_ref();
        if let Some(subject) = exhibit.and_then(|exhibit| exhibit.subject.as_ref()) {
            let place = format!("line {}, visit {}", subject.line, subject.visit);
            let expected = match &subject.truth {
                Some(truth) => format!("{} = {truth} ({place})", subject.variable),
                None => format!("a valid location for {} ({place})", subject.variable),
            };
            let mut actual = format!("{} = {}", subject.variable, subject.shown);
            let _ = write!(actual, "\nlocation: {}", subject.location);
            return (expected, actual);
        }
        if let Some(finding) = self.dossier.case.as_ref().and_then(|c| c.finding.as_ref()) {
            let place = format!("line {}, visit {}", finding.line, finding.visit);
            return (
                format!("{} = {} ({place})", finding.variable, finding.expected),
                format!(
                    "{} = {}\nlocation: {}",
                    finding.variable, finding.shown, finding.location
                ),
            );
        }
        let run = |wanted: bool| {
            let run = exhibit?.runs.iter().find(|run| run.expected == wanted)?;
            Some(match run.output.trim_end() {
                "" => format!("{}: {}", run.build, run.ending),
                output => format!("{}: {}\n{output}", run.build, run.ending),
            })
        };
        let expected = run(true).unwrap_or_else(|| match self.dossier.entry.kind.as_str() {
            "crash" | "hang" => "the program compiles".into(),
            _ => "the behaviour of the unoptimised build".into(),
        });
        let actual = run(false).unwrap_or_else(|| match &self.dossier.case {
            Some(case) => case.claim.to_string(),
            None => self.dossier.entry.title.clone(),
        });
        (expected, actual)
    }

    fn culprit(&self) -> Vec<String> {
        let Some(culprit) = &self.dossier.culprit else {
            return Vec::new();
        };
        let mut lines = vec![match culprit.files.first() {
            Some(file) => format!("Pass: {} ({file})", culprit.pass),
            None => format!("Pass: {}", culprit.pass),
        }];
        if let Some(instance) = &culprit.instance {
            lines.push(format!("  {instance}"));
        }
        if !culprit.disable.is_empty() {
            lines.push(format!("  gone with {}", culprit.disable.join(" ")));
        }
        lines.extend(culprit.why.iter().map(|why| format!("  {why}")));
        lines
    }

    /// One line per compiler: the levels that show it.
    fn releases(&self) -> Vec<String> {
        let mut rows: Vec<(&str, &str, Vec<&str>, usize)> = Vec::new();
        for build in &self.dossier.builds {
            let known = rows
                .iter()
                .position(|(compiler, ..)| *compiler == build.compiler);
            let place = known.unwrap_or_else(|| {
                rows.push((&build.compiler, &build.version, Vec::new(), 0));
                rows.len() - 1
            });
            if let Some(row) = rows.get_mut(place) {
                row.3 += 1;
                if build.state == State::Affected {
                    row.2.push(&build.level);
                }
            }
        }
        rows.into_iter()
            .map(|(compiler, version, levels, tried)| {
                let name = match version {
                    "" => compiler.to_owned(),
                    version => format!("{compiler} ({version})"),
                };
                match levels.as_slice() {
                    [] => format!("{name}: not affected ({tried} builds tried)"),
                    levels => format!("{name}: {}", levels.join(" ")),
                }
            })
            .collect()
    }

    fn witnesses(&self) -> Option<String> {
        let finding = self.dossier.case.as_ref()?.finding.as_ref()?;
        let debuggers: Vec<String> = finding
            .debuggers
            .iter()
            .map(|(name, text)| format!("{name} shows {text}"))
            .collect();
        Some(format!(
            "Confirmed by {}{}",
            finding.confirmed_by.join(", "),
            match debuggers.as_slice() {
                [] => String::new(),
                debuggers => format!(" ({})", debuggers.join("; ")),
            }
        ))
    }

    fn bugzilla(&self) -> String {
        let entry = &self.dossier.entry;
        let (expected, actual) = self.expected_and_actual();
        let mut text = String::new();
        let _ = write!(
            text,
            "Summary: {}\nProduct: gcc\nComponent: {}\nVersion: {}\nKeywords: {}\n\n",
            self.title, self.component, entry.version, self.keyword
        );
        let _ = write!(text, "$ {} -v\n{}\n\n", entry.compiler, self.identity());
        self.shell_files(&mut text);
        for command in self.commands() {
            let _ = writeln!(text, "$ {command}");
        }
        let _ = write!(text, "\nExpected:\n{expected}\n\nActual:\n{actual}\n");
        if let Some(witnesses) = self.witnesses() {
            let _ = writeln!(text, "\n{witnesses}.");
        }
        for (title, lines) in [
            ("Culprit:", self.culprit()),
            ("Builds that show it:", self.releases()),
        ] {
            if !lines.is_empty() {
                let _ = write!(text, "\n{title}\n{}\n", lines.join("\n"));
            }
        }
        let _ = write!(text, "\n{}\n", self.credit());
        text
    }

    /// The files as `cat` shows them: what GCC's maintainers expect in a description.
    fn shell_files(&self, text: &mut String) {
        let attachments = self.attachments();
        let files = match (attachments.as_slice(), self.program()) {
            ([], Some(program)) => vec![program],
            _ => attachments,
        };
        for (name, content) in files {
            let _ = write!(text, "$ cat {name}\n{}\n\n", content.trim_end());
        }
    }

    fn github(&self) -> String {
        let entry = &self.dossier.entry;
        let (expected, actual) = self.expected_and_actual();
        let label = match self.keyword {
            "wrong-code" => "miscompilation",
            "ice-on-valid-code" => "crash-on-valid",
            "compile-time-hog" => "hang",
            _ => "debuginfo, wrong-debug",
        };
        let mut text = format!("Title: {}\nLabels: {label}\n\n", self.title);
        if let Some((name, program)) = self.program() {
            let _ = write!(text, "`{name}`:\n{}", fenced("c", program));
        }
        let _ = write!(
            text,
            "\n**Compiler:** {} {}\n{}",
            entry.compiler,
            entry.level,
            fenced("", &self.identity())
        );
        let commands: Vec<String> = self.commands();
        let _ = write!(
            text,
            "\n**Reproduce:**\n{}",
            fenced("sh", &commands.join("\n"))
        );
        let _ = write!(text, "\n**Expected:**\n{}", fenced("", &expected));
        let _ = write!(text, "\n**Actual:**\n{}", fenced("", &actual));
        if let Some(witnesses) = self.witnesses() {
            let _ = writeln!(text, "\n{witnesses}.");
        }
        let culprit = self.culprit();
        if !culprit.is_empty() {
            let _ = write!(text, "\n**Culprit:**\n{}", fenced("", &culprit.join("\n")));
        }
        let releases = self.releases();
        if !releases.is_empty() {
            let _ = writeln!(text, "\n**Builds that show it:**\n");
            for line in releases {
                let _ = writeln!(text, "- {line}");
            }
        }
        for (name, content) in self.attachments() {
            let _ = write!(
                text,
                "\n<details><summary>{}</summary>\n\n{}\n</details>\n",
                name.replace(['<', '>', '&'], "_"),
                fenced("", content)
            );
        }
        let _ = write!(text, "\n{}\n", self.credit());
        text
    }

    fn credit(&self) -> String {
        let replay = self.dossier.case.as_ref().map(|case| case.replay.as_str());
        match replay {
            Some(replay) if !replay.is_empty() => {
                format!("Found by candor; it replays with: {replay}")
            }
            _ => "Found by candor.".into(),
        }
    }
}

/// A Markdown code block whose fence is longer than any run of backticks inside.
fn fenced(language: &str, text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn a_fence_cannot_be_closed_from_inside() {
        assert_eq!(fenced("c", "int x;\n"), "```c\nint x;\n```\n");
        let hostile = "```\n# pwned\n````";
        assert!(fenced("", hostile).starts_with("`````\n"));
    }
}

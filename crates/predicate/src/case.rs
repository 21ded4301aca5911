//! A case: a program, one build of it, and what is wrong with it. As JSON it is `finding.json`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use candor_check::{Finding, Kind, PointChoice, Round, Signature};
use candor_source::instrument::{BARRIER, OWN_BARRIER};
use candor_toolchain::{Compiler, Program};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The present schema of [`Case`].
pub const SCHEMA: u32 = 1;

/// A program with everything that is needed to build and run it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedProgram {
    /// Its file name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Flags for every compiler.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Its standard input.
    #[serde(default, with = "bytes", skip_serializing_if = "Vec::is_empty")]
    pub stdin: Vec<u8>,
}

/// Bytes as a string where they are one: readable, and exact all the same.
mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Bytes {
        Text(String),
        Raw(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text.to_owned()),
            Err(_) => Bytes::Raw(bytes.to_vec()),
        }
        .serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Bytes::deserialize(deserializer)? {
            Bytes::Text(text) => text.into_bytes(),
            Bytes::Raw(raw) => raw,
        })
    }
}

impl SavedProgram {
    /// The program as the other crates know it.
    pub fn program(&self) -> Program {
        Program {
            path: PathBuf::from(&self.name),
            text: self.text.clone(),
            flags: self.flags.clone(),
            arguments: self.arguments.clone(),
            stdin: self.stdin.clone(),
        }
    }
}

impl From<&Program> for SavedProgram {
    fn from(program: &Program) -> Self {
        SavedProgram {
            name: program.file_name(),
            text: program.text.clone(),
            flags: program.flags.clone(),
            arguments: program.arguments.clone(),
            stdin: program.stdin.clone(),
        }
    }
}

/// The variable a claim is about. Reduction moves lines and may change the path; function and root
/// name are the variable's lineage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its function; `None` for a global.
    pub function: Option<String>,
    /// The variable with its path, as a C expression.
    pub variable: String,
    /// The line it is declared on; 0 when not known.
    #[serde(default)]
    pub declared: u32,
    /// The line it was looked at; 0 when not known.
    #[serde(default)]
    pub line: u32,
}

impl Subject {
    /// The variable without its path: `a` of `a[2].x`.
    pub fn root(&self) -> &str {
        root(&self.variable)
    }
}

/// The name at the front of an access path.
fn root(variable: &str) -> &str {
    let variable = ["__real__ ", "__imag__ "]
        .iter()
        .find_map(|part| variable.strip_prefix(part))
        .unwrap_or(variable);
    variable
        .trim_start_matches(['*', '(', '&'])
        .split(['.', '[', '-', ')'])
        .next()
        .unwrap_or(variable)
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.function {
            Some(function) => write!(f, "`{}` in {function}", self.variable),
            None => write!(f, "the global `{}`", self.variable),
        }
    }
}

/// In which way a miscompiled program goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// It prints something else.
    Output,
    /// It ends with another status.
    Status,
    /// It dies by a signal, or by another one.
    Signal,
    /// It does not end.
    Endless,
}

impl std::fmt::Display for Manner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Manner::Output => "prints something else",
            Manner::Status => "ends with another status",
            Manner::Signal => "dies by a signal",
            Manner::Endless => "does not end",
        })
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "claim", rename_all = "kebab-case")]
pub enum Claim {
    /// The compiler crashes.
    Crash {
        /// Where ([`candor_toolchain::build::crash_site`]).
        site: String,
    },
    /// The compiler does not finish.
    Hang {
        /// CPU time it is given.
        seconds: u64,
    },
    /// The program behaves differently from its reference build.
    Miscompilation {
        /// Flags of the reference build.
        #[serde(default = "unoptimised")]
        against: Vec<String>,
        /// The reference build's compiler, where it is not the one under test.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// In which way; `None` for any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manner: Option<Manner>,
    },
    /// The debug information is wrong about a variable.
    Debug {
        /// How.
        kind: Kind,
        /// About which.
        subject: Subject,
        /// In which round of a check it is seen.
        #[serde(default)]
        round: Round,
    },
    /// The debug information no longer shows a variable.
    Lost {
        /// Which.
        subject: Subject,
        /// Flags of a build by the same compiler that still shows it; empty: none needs to.
        #[serde(default)]
        against: Vec<String>,
    },
    /// A command of the user's says so: exit status 0.
    Command {
        /// The command; the program is in its working directory under its own name.
        path: PathBuf,
    },
}

/// The text with barriers of its own at these offsets. A check numbers them before anything is inserted.
fn with_barriers(text: &str, offsets: &[usize]) -> String {
    let mut text = text.to_owned();
    let mut offsets = offsets.to_vec();
    offsets.sort_unstable();
    for offset in offsets.into_iter().rev() {
        if text.is_char_boundary(offset) {
            text.insert_str(offset, OWN_BARRIER);
        }
    }
    text
}

fn unoptimised() -> Vec<String> {
    vec!["-O0".into()]
}

impl Claim {
    /// The variable it is about, if it is about one.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Claim::Debug { subject, .. } | Claim::Lost { subject, .. } => Some(subject),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn subject_mut(&mut self) -> Option<&mut Subject> {
        match self {
            Claim::Debug { subject, .. } | Claim::Lost { subject, .. } => Some(subject),
            _ => None,
        }
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Claim::Crash { site } if site.is_empty() => write!(f, "the compiler crashes"),
            Claim::Crash { site } => write!(f, "the compiler crashes: {site}"),
            Claim::Hang { seconds } => write!(f, "the compiler needs more than {seconds} s"),
            Claim::Miscompilation {
                against,
                reference,
                manner,
            } => {
                write!(f, "it behaves differently from its ")?;
                if let Some(reference) = reference {
                    write!(f, "{reference} ")?;
                }
                write!(f, "{} build", against.join(" "))?;
                match manner {
                    Some(manner) => write!(f, " (it {manner})"),
                    None => Ok(()),
                }
            }
            Claim::Debug { kind, subject, .. } => write!(f, "{kind} of {subject}"),
            Claim::Lost { subject, .. } => write!(f, "{subject} is not shown"),
            Claim::Command { path } => write!(f, "{} says so", path.display()),
        }
    }
}

/// The compiler pass behind a case, as `candor isolate` finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Its name.
    pub name: String,
    /// Flags that switch it off; with them the claim must fail. Empty when there are none.
    #[serde(default)]
    pub disable: Vec<String>,
}

/// A program, one build of it, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// [`SCHEMA`] when it was written.
    pub schema: u32,
    /// The program.
    pub program: SavedProgram,
    /// The compiler's command.
    pub compiler: String,
    /// Its release.
    #[serde(default)]
    pub version: String,
    /// Whose it is.
    #[serde(default)]
    pub family: String,
    /// The build's flags: the level and what else differs from a plain build.
    pub flags: Vec<String>,
    /// What is wrong.
    #[serde(flatten)]
    pub claim: Claim,
    /// What `check` saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// How the program was made from another: the sidecar of `candor mutate` and, as `seed_text`, the
    /// seed ([`Case::with_variant`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<serde_json::Value>,
    /// What makes it the same bug as another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// The pass to blame, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
    /// The command that shows it again.
    #[serde(default)]
    pub replay: String,
}

impl Case {
    /// A case on `program` built by `compiler` with `flags`.
    pub fn new(program: &Program, compiler: &Compiler, flags: Vec<String>, claim: Claim) -> Self {
        Case {
            schema: SCHEMA,
            program: program.into(),
            compiler: compiler.name.clone(),
            version: compiler.version.to_string(),
            family: compiler.family.to_string(),
            flags,
            claim,
            finding: None,
            variant: None,
            signature: None,
            pass: None,
            replay: String::new(),
        }
    }

    /// The case of a finding of a check of `program`. Its family is that of the compiler, also where
    /// a debugger is to blame.
    pub fn from_finding(program: &Program, finding: &Finding) -> Self {
        let family = if finding.compiler.contains("clang") {
            "clang"
        } else if finding.compiler.contains("gcc") {
            "gcc"
        } else {
            &finding.signature.family
        };
        let mut saved = SavedProgram::from(program);
        if finding.round == Round::Sparse || finding.round == Round::Chosen {
            saved.text = with_barriers(&program.text, &finding.barriers);
        }
        Case {
            schema: SCHEMA,
            program: saved,
            compiler: finding.compiler.clone(),
            version: finding.version.clone(),
            family: family.to_owned(),
            flags: finding
                .level
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            claim: Claim::Debug {
                kind: finding.kind,
                subject: Subject {
                    function: finding.function.clone(),
                    variable: finding.variable.clone(),
                    declared: finding.declared,
                    line: finding.line,
                },
                round: finding.round,
            },
            finding: Some(finding.clone()),
            variant: None,
            signature: Some(finding.signature.clone()),
            pass: None,
            replay: finding.replay.clone(),
        }
    }

    /// Where its program is looked at: at the barriers that it brings, where it is seen with few of them only, or at every
    /// statement, or without any.
    pub fn points(&self) -> PointChoice {
        match &self.claim {
            Claim::Debug {
                round: Round::Quiet,
                ..
            } => PointChoice::None,
            Claim::Debug {
                round: Round::Sparse | Round::Chosen,
                ..
            } if self.program.text.contains(BARRIER) => PointChoice::Own,
            _ => PointChoice::All,
        }
    }

    /// The same about a build by `compiler`, which need not be the one it was found with.
    pub fn built_by(mut self, compiler: &Compiler) -> Self {
        self.compiler = compiler.name.clone();
        self.version = compiler.version.to_string();
        self.family = compiler.family.to_string();
        self
    }

    /// Says that the program is a variant: `sidecar` is what `candor mutate` wrote, `seed` the text it
    /// was made from. Reduction then drops whole snippets first.
    pub fn with_variant(mut self, mut sidecar: serde_json::Value, seed: &str) -> Self {
        if let Some(object) = sidecar.as_object_mut() {
            object.insert("seed_text".into(), seed.into());
        }
        self.variant = Some(sidecar);
        self
    }

    /// Reads a case.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| candor_toolchain::Error::file("read", path, source))?;
        Self::from_json(path, &text)
    }

    /// Reads a case from its text; `path` is for messages.
    pub fn from_json(path: &Path, text: &str) -> Result<Self, Error> {
        let not_one = |reason: String| Error::NotACase {
            path: path.to_owned(),
            reason,
        };
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| not_one(error.to_string()))?;
        let schema = value.get("schema").and_then(serde_json::Value::as_u64);
        let schema = schema.ok_or_else(|| not_one("it has no `schema`".into()))?;
        if schema > u64::from(SCHEMA) {
            return Err(Error::Newer {
                path: path.to_owned(),
                met: u32::try_from(schema).unwrap_or(u32::MAX),
                known: SCHEMA,
            });
        }
        serde_json::from_value(value).map_err(|error| not_one(error.to_string()))
    }

    /// The case as text.
    pub fn to_json(&self) -> String {
        // Plain data with string keys: this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Writes the case, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        write_whole(path, self.to_json().as_bytes())
    }
}

/// Whether a crash at `met` is the one at `wanted`; an empty `wanted` takes any.
pub(crate) fn same_site(wanted: &str, met: &str) -> bool {
    wanted.is_empty() || wanted == met
}

/// Writes beside `path` and renames it there: a reader never meets half a file, and a full disk
/// leaves what was there before.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::from(candor_toolchain::Error::file("write", path, source));
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".candor-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.flush().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(claim: Claim) -> Case {
        Case {
            schema: SCHEMA,
            program: SavedProgram {
                name: "a.c".into(),
                text: "int main(void) { return 0; }\n".into(),
                flags: vec!["-DN=1".into()],
                arguments: Vec::new(),
                stdin: b"in\xff".to_vec(),
            },
            compiler: "gcc-12".into(),
            version: "12.2.0".into(),
            family: "gcc".into(),
            flags: vec!["-O2".into()],
            claim,
            finding: None,
            variant: None,
            signature: None,
            pass: None,
            replay: String::new(),
        }
    }

    #[test]
    fn every_claim_survives_the_way_through_json() {
        let subject = Subject {
            function: Some("f".into()),
            variable: "a[1].x".into(),
            declared: 3,
            line: 5,
        };
        let claims = [
            Claim::Crash { site: "x".into() },
            Claim::Hang { seconds: 3 },
            Claim::Miscompilation {
                against: vec!["-O0".into()],
                reference: None,
                manner: Some(Manner::Output),
            },
            Claim::Debug {
                kind: Kind::WrongValue,
                subject: subject.clone(),
                round: Round::Quiet,
            },
            Claim::Lost {
                subject,
                against: vec!["-Og".into()],
            },
            Claim::Command {
                path: "/x/y.sh".into(),
            },
        ];
        for claim in claims {
            let case = case(claim);
            let read = Case::from_json(Path::new("f.json"), &case.to_json()).unwrap();
            assert_eq!(read, case);
        }
    }

    #[test]
    fn what_is_not_a_case_is_refused_in_words() {
        let read = |text: &str| {
            Case::from_json(Path::new("f.json"), text)
                .unwrap_err()
                .to_string()
        };
        assert!(read("int main;").contains("f.json is not a candor finding"));
        assert!(read("{}").contains("no `schema`"));
        assert!(read("{\"schema\": 99}").contains("reads up to 1"));
        assert!(read("{\"schema\": 1}").contains("missing field"));
    }

    #[test]
    fn roots_of_access_paths() {
        for (path, expected) in [
            ("a", "a"),
            ("a[1].x", "a"),
            ("(*p).x", "p"),
            ("*q", "q"),
            ("__imag__ s.z", "s"),
        ] {
            assert_eq!(root(path), expected);
        }
    }

    #[test]
    fn a_file_is_written_whole_or_the_old_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("finding.json");
        let case = case(Claim::Hang { seconds: 1 });
        case.save(&path).unwrap();
        assert_eq!(Case::load(&path).unwrap(), case);
        let missing = directory.path().join("none/finding.json");
        assert!(case.save(&missing).is_err());
        assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    }
}

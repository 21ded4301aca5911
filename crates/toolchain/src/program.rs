//! The noun every command acts on: a source program with its inputs.

use std::path::{Path, PathBuf};

use crate::Error;

/// Sources above this are refused: no compiler test is that large, and every step reads it whole.
pub const LARGEST_SOURCE: u64 = 16 << 20;

/// A source file with its flags and inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it came from.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Flags for every compiler (`-DN=10 -Iinclude`).
    pub flags: Vec<String>,
    /// Arguments of the program when it runs.
    pub arguments: Vec<String>,
    /// Its standard input.
    pub stdin: Vec<u8>,
}

impl Program {
    /// Reads a C or Rust file, refusing what cannot be one. Csmith's include directory is added by itself.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = read_source(path)?;
        let mut program = Self::from_text(path, text);
        // Builds happen in scratch directories: headers beside the source are found by flag.
        let beside = std::path::absolute(path).ok();
        if let Some(directory) = beside.as_deref().and_then(Path::parent)
            && !program.is_rust()
            && program.text.contains("#include \"")
        {
            program.flags.push(format!("-I{}", directory.display()));
        }
        Ok(program)
    }

    /// A program whose text we already have.
    pub fn from_text(path: &Path, text: String) -> Self {
        let mut flags = Vec::new();
        if text.contains("csmith.h") {
            flags.extend(csmith_include().map(|directory| format!("-I{}", directory.display())));
        }
        Program {
            path: path.to_owned(),
            text,
            flags,
            arguments: Vec::new(),
            stdin: Vec::new(),
        }
    }

    /// Whether it is a Rust program: by its name, as compilers tell.
    pub fn is_rust(&self) -> bool {
        self.path
            .extension()
            .is_some_and(|extension| extension == "rs")
    }

    /// The file's name, as it should appear in messages and debug information.
    pub fn file_name(&self) -> String {
        self.path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_else(|| "program.c".to_owned())
    }
}

/// Reads a source file with every refusal a user can meet put into words.
pub fn read_source(path: &Path) -> Result<String, Error> {
    let bad = |reason: String| Error::BadInput {
        path: path.to_owned(),
        reason,
    };
    let data = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => bad("no such file".into()),
        _ => bad(error.to_string()),
    })?;
    if data.is_dir() {
        return Err(bad("is a directory; give a source file".into()));
    }
    if !data.is_file() {
        return Err(bad("is not a regular file".into()));
    }
    if data.len() > LARGEST_SOURCE {
        return Err(bad(format!(
            "is {} MiB; source files up to {} MiB are read",
            data.len() >> 20,
            LARGEST_SOURCE >> 20
        )));
    }
    let bytes = std::fs::read(path).map_err(|source| Error::file("read", path, source))?;
    if bytes.contains(&0) {
        return Err(bad("is not text (it contains NUL bytes)".into()));
    }
    // Old sources carry Latin-1 in comments; byte offsets must survive, so each odd byte becomes '?'.
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error
            .into_bytes()
            .into_iter()
            .map(|byte| if byte.is_ascii() { byte as char } else { '?' })
            .collect(),
    })
}

/// Where csmith.h is, if it is.
pub fn csmith_include() -> Option<PathBuf> {
    ["/usr/include/csmith", "/usr/local/include/csmith"]
        .into_iter()
        .map(PathBuf::from)
        .chain(
            std::fs::read_dir("/usr/include")
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| {
                    path.file_name()
                        .is_some_and(|name| name.to_string_lossy().starts_with("csmith"))
                }),
        )
        .find(|directory| directory.join("csmith.h").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> String {
        read_source(path).unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_a_source_file_is_refused_in_words() {
        let directory = tempfile::tempdir().unwrap();
        assert!(reason(&directory.path().join("none.c")).contains("no such file"));
        assert!(reason(directory.path()).contains("is a directory"));
        assert!(reason(Path::new("/dev/zero")).contains("not a regular file"));

        let binary = directory.path().join("binary.c");
        std::fs::write(&binary, b"int\0x").unwrap();
        assert!(reason(&binary).contains("not text"));

        let huge = directory.path().join("huge.c");
        let file = std::fs::File::create(&huge).unwrap();
        file.set_len(100 << 20).unwrap();
        assert!(reason(&huge).contains("is 100 MiB"));
    }

    #[test]
    fn latin1_comments_keep_their_offsets() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("old.c");
        std::fs::write(&file, b"/* caf\xe9 */ int x;").unwrap();
        assert_eq!(read_source(&file).unwrap(), "/* caf? */ int x;");
    }

    #[test]
    fn headers_beside_the_source_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.c");
        std::fs::write(&file, "#include \"own.h\"\n").unwrap();
        let program = Program::load(&file).unwrap();
        assert_eq!(program.flags, [format!("-I{}", directory.path().display())]);
    }

    #[test]
    fn csmith_programs_get_their_include_directory() {
        let with = Program::from_text(Path::new("a.c"), "#include \"csmith.h\"\n".into());
        let expected = csmith_include().expect("csmith is installed by scripts/install.sh");
        assert_eq!(with.flags, [format!("-I{}", expected.display())]);
        let without = Program::from_text(Path::new("a.c"), "int x;".into());
        assert!(without.flags.is_empty());
    }
}

//! Reading C text: what is accepted, how stray bytes are treated, and the little lexing that is needed beside
//! clang's.
//!
//! Old programs have Latin-1 in their comments and sometimes in their strings. Offsets and edits want valid
//! UTF-8, so such bytes are rewritten before clang sees them: `?` in comments and directives, an octal escape
//! in string and character literals (which compiles to the same bytes). Lines stay what they were.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::Error;

/// The largest file accepted; far above any compiler test, far below what would exhaust memory.
pub const MAX_BYTES: u64 = 16 << 20;

/// Reads a C file.
///
/// # Errors
/// [`Error::Read`], [`Error::NotAFile`], [`Error::TooLarge`], [`Error::NotText`].
pub fn read(path: &Path) -> Result<String, Error> {
    let failed = |source| Error::Read {
        path: path.to_path_buf(),
        source,
    };
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(Error::NotAFile {
            path: path.to_path_buf(),
        });
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::TooLarge {
            path: path.to_path_buf(),
            size: metadata.len(),
            limit: MAX_BYTES,
        });
    }
    check(path, &bytes)
}

/// Accepts bytes as C text; `path` is only for the error.
///
/// # Errors
/// [`Error::TooLarge`], and [`Error::NotText`] for NUL bytes and for bytes that are not UTF-8 outside of
/// comments, literals and directives.
pub fn check(path: &Path, bytes: &[u8]) -> Result<String, Error> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::TooLarge {
            path: path.to_path_buf(),
            size: bytes.len() as u64,
            limit: MAX_BYTES,
        });
    }
    let not_text = |offset: usize, what: String| Error::NotText {
        path: path.to_path_buf(),
        line: line_of(bytes, offset),
        what,
    };
    if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
        return Err(not_text(offset, "a NUL byte".to_string()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_string()),
        Err(_) => repair(bytes).map_err(|offset| {
            let byte = bytes.get(offset).copied().unwrap_or_default();
            not_text(
                offset,
                format!("byte 0x{byte:02x} (not UTF-8) outside comments and literals"),
            )
        }),
    }
}

fn line_of(bytes: &[u8], offset: usize) -> u32 {
    let newlines = bytes.iter().take(offset).filter(|b| **b == b'\n').count();
    u32::try_from(newlines + 1).unwrap_or(u32::MAX)
}

/// What the lexer is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    Directive,
    LineComment,
    BlockComment,
    Literal(char),
}

/// Makes the text UTF-8; the error is the offset of a byte that cannot be helped.
fn repair(bytes: &[u8]) -> Result<String, usize> {
    let mut out = String::with_capacity(bytes.len() + 64);
    let mut inside = Inside::Code;
    let mut line_start = true;
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(character) = characters.next() {
            out.push(character);
            let next = characters.peek().copied();
            // Whether the next character belongs to this one, and so has no meaning of its own.
            let mut pair = false;
            inside = match (inside, character) {
                (Inside::BlockComment, '*') if next == Some('/') => {
                    pair = true;
                    Inside::Code
                }
                (Inside::BlockComment, _) => Inside::BlockComment,
                (state, '\\') => {
                    pair = true;
                    state
                }
                (_, '\n') => Inside::Code,
                (Inside::Code | Inside::Directive, '/') if next == Some('/') => Inside::LineComment,
                (Inside::Code | Inside::Directive, '/') if next == Some('*') => {
                    pair = true;
                    Inside::BlockComment
                }
                (Inside::Code, '#') if line_start => Inside::Directive,
                (Inside::Code, '"' | '\'') => Inside::Literal(character),
                (Inside::Literal(quote), _) if character == quote => Inside::Code,
                (state, _) => state,
            };
            line_start = character == '\n' || (line_start && character.is_whitespace());
            if !pair {
                continue;
            }
            match characters.next() {
                Some(second) => out.push(second),
                // A backslash before a stray byte means the byte; before its escape it would mean itself.
                None if matches!(inside, Inside::Literal(_)) && !chunk.invalid().is_empty() => {
                    out.pop();
                }
                None => {}
            }
        }
        offset += chunk.valid().len();
        for byte in chunk.invalid() {
            match inside {
                Inside::Code => return Err(offset),
                Inside::Literal(_) => out.push_str(&format!("\\{byte:03o}")),
                _ => out.push('?'),
            }
            offset += 1;
        }
    }
    Ok(out)
}

/// The offset of the next byte that is neither white space nor in a comment.
pub(crate) fn skip_blank(text: &str, mut offset: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        let rest = bytes.get(offset..).unwrap_or_default();
        match rest {
            [b'\\', b'\n', ..] => offset += 2,
            [b'\\', b'\r', b'\n', ..] => offset += 3,
            [byte, ..] if byte.is_ascii_whitespace() || *byte == 0x0b => offset += 1,
            [b'/', b'/', ..] => {
                offset += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            [b'/', b'*', ..] => {
                let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
                offset += end.map_or(rest.len(), |end| end + 4);
            }
            _ => return offset,
        }
    }
}

/// Where the use of a macro ends whose name starts at `offset`: behind its arguments, if it has any.
pub(crate) fn macro_use_end(text: &str, offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    let name = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
        .count();
    let end = offset + name;
    let mut at = skip_blank(text, end);
    if !text.get(at..).unwrap_or_default().starts_with('(') {
        return end;
    }
    let mut depth = 0u32;
    loop {
        let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else {
            return end;
        };
        at += character.len_utf8();
        match character {
            '(' => depth += 1,
            ')' if depth == 1 => return at,
            ')' => depth -= 1,
            '"' | '\'' => {
                let inside = text.get(at..).unwrap_or_default();
                let mut escaped = false;
                let close = inside.char_indices().find(|(_, one)| {
                    let closes = *one == character && !escaped;
                    escaped = *one == '\\' && !escaped;
                    closes
                });
                at += close.map_or(inside.len(), |(length, _)| length + 1);
            }
            '/' => at = skip_blank(text, at - 1).max(at),
            _ => {}
        }
    }
}

/// The text with each comment (and the blanks behind it) made a newline, for looking at the few tokens
/// between two statements.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut offset = 0;
    while let Some(character) = text.get(offset..).and_then(|rest| rest.chars().next()) {
        let after = if character == '/' {
            skip_blank(text, offset)
        } else {
            offset
        };
        if after > offset {
            out.push('\n');
            offset = after;
        } else {
            out.push(character);
            offset += character.len_utf8();
        }
    }
    out
}

/// What follows the `#` of a directive line.
fn directive(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('#').map(str::trim_start)
}

/// Whether a directive `#line`, or a `# 12 "file"` left by a preprocessor, may be in the text.
pub(crate) fn has_line_directives(text: &str) -> bool {
    text.lines().filter_map(directive).any(|directive| {
        directive.starts_with("line") || directive.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether the text may hold a `({`, whatever stands between the two and however the brace is written.
pub(crate) fn may_have_statement_expressions(text: &str) -> bool {
    text.match_indices('(').any(|(offset, _)| {
        let next = text.as_bytes().get(skip_blank(text, offset + 1));
        matches!(next, Some(b'{' | b'<' | b'?'))
    })
}

/// Whether the program includes Csmith's run-time header, so that the caller must add its folder.
#[must_use]
pub fn includes_csmith(text: &str) -> bool {
    text.lines().filter_map(directive).any(|directive| {
        let target = directive.strip_prefix("include").unwrap_or_default();
        let target = target.trim_start();
        let quoted = target.strip_prefix(['"', '<']).unwrap_or_default();
        let name = quoted.split(['"', '>']).next().unwrap_or_default();
        name == "csmith.h" || name.ends_with("/csmith.h")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_macros_end_behind_their_arguments() {
        for (text, rest) in [
            ("NAME;", ";"),
            ("NAME (a, (b)) ;", " ;"),
            ("NAME(\")\", '\\'', ')' /* ) */) x", " x"),
            ("NAME(", "("),
            ("NAME /* ( */ + 1", " /* ( */ + 1"),
        ] {
            assert_eq!(&text[macro_use_end(text, 0)..], rest, "{text}");
        }
    }

    #[test]
    fn latin_1_is_harmless_in_comments_and_kept_in_strings() {
        let bytes =
            b"// caf\xe9\n/* \xe9 ' \\*/ char s[] = \"\xe9\\\"1\\\xe8\"; // \xff\\\n\xfe\n#error \xe9\nint x;\n";
        let text = check(Path::new("x.c"), bytes).unwrap();
        assert_eq!(
            text,
            "// caf?\n/* ? ' \\*/ char s[] = \"\\351\\\"1\\350\"; // ?\\\n?\n#error ?\nint x;\n"
        );
        let error = check(Path::new("x.c"), b"int a;\nint \xe9;\n").unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("line 2") && error.contains("0xe9"),
            "{error}"
        );
    }

    #[test]
    fn utf8_is_left_alone_and_binaries_are_refused() {
        let utf8 = "// é\r\nint x;";
        assert_eq!(check(Path::new("x.c"), utf8.as_bytes()).unwrap(), utf8);
        let error = check(Path::new("x.c"), b"int\n\0x")
            .unwrap_err()
            .to_string();
        assert!(error.contains("NUL") && error.contains("line 2"), "{error}");
        let large = vec![b' '; MAX_BYTES as usize + 1];
        let error = check(Path::new("x.c"), &large).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }));
    }

    #[test]
    fn files_that_cannot_be_read_say_why() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path()), Err(Error::NotAFile { .. })));
        let device = read(Path::new("/dev/zero"));
        assert!(matches!(device, Err(Error::NotAFile { .. })));
        let missing = read(&folder.path().join("missing.c"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("missing.c"), "{missing}");
        assert!(missing.contains("No such file"), "{missing}");
    }

    #[test]
    fn blanks_and_comments_are_skipped() {
        for (text, next) in [
            (" /* * / */ // x\n\\\n ;", ";"),
            ("x", "x"),
            ("/* open", ""),
            ("// open", ""),
            ("/ a", "/ a"),
            ("/**/a", "a"),
            ("/*/ */a", "a"),
        ] {
            assert_eq!(&text[skip_blank(text, 0)..], next, "{text:?}");
        }
        let bare = without_comments("a /* #pragma */ = // x\nb");
        assert_eq!(bare, "a \n= \nb");
    }

    #[test]
    fn directives_are_recognised() {
        assert!(includes_csmith("int x;\n # include \"csmith.h\"\n"));
        assert!(includes_csmith("#include <csmith/csmith.h>"));
        assert!(!includes_csmith(
            "// #include \"csmith.h\"\n#include \"mycsmith.h\""
        ));
        assert!(has_line_directives("x\n  # 1 \"a.c\"\n"));
        assert!(has_line_directives("#line 3"));
        assert!(!has_line_directives("#include <a.h>\nline 3"));
        assert!(may_have_statement_expressions("x = ( /* c */\n {"));
        assert!(!may_have_statement_expressions("f(a) {"));
    }
}

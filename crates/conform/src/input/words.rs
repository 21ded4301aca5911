//! Shell words, as far as RUN lines use them.

/// Splits a command line into words and operators (`|`, `&&`, `;`, `<`, `>`). `None` for what a RUN
/// line of an IR test does not contain.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut open = false;
    let mut chars = line.chars().peekable();
    let flush = |word: &mut String, open: &mut bool, words: &mut Vec<String>| {
        if *open {
            words.push(std::mem::take(word));
            *open = false;
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                open = true;
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(chars.next()?),
                        other => word.push(other),
                    }
                }
            }
            '\\' => {
                open = true;
                word.push(chars.next()?);
            }
            '|' | ';' | '<' | '>' | '&' => {
                // `2>&1` and `&&` are one operator each.
                if c == '>' && chars.peek() == Some(&'&') {
                    chars.next();
                    chars.next();
                    if word == "2" || word == "1" {
                        word.clear();
                        open = false;
                    }
                    continue;
                }
                if c == '>' && matches!(word.as_str(), "1" | "2") {
                    word.clear();
                    open = false;
                }
                flush(&mut word, &mut open, &mut words);
                let mut operator = c.to_string();
                if c == '&' || c == '>' || c == '|' {
                    while chars.peek() == Some(&c) {
                        chars.next();
                        operator.push(c);
                    }
                }
                words.push(operator);
            }
            c if c.is_whitespace() => flush(&mut word, &mut open, &mut words),
            c => {
                open = true;
                word.push(c);
            }
        }
    }
    flush(&mut word, &mut open, &mut words);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_operators() {
        let words = split("opt -passes='a,b<x;y>' < %s 2>&1 | FileCheck %s --check-prefix=\"A B\"")
            .unwrap();
        assert_eq!(
            words,
            [
                "opt",
                "-passes=a,b<x;y>",
                "<",
                "%s",
                "|",
                "FileCheck",
                "%s",
                "--check-prefix=A B"
            ]
        );
        assert_eq!(
            split("a 2>/dev/null && b").unwrap(),
            ["a", ">", "/dev/null", "&&", "b"]
        );
        assert_eq!(split("opt 'x"), None);
    }
}

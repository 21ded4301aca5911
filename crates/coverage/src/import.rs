//! Coverage that other tools wrote: lcov's tracefiles and gcov's JSON, for compilers that someone has
//! built with `--coverage` already.

use std::path::Path;

use crate::Error;

/// A line that was executed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executed {
    /// The file, as the tool names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function, where the tool says.
    pub function: String,
}

/// The executed lines of an lcov tracefile (`SF:`, `FN:`, `DA:` records; see geninfo's manual).
/// `path` is for messages.
pub fn lcov(path: &Path, text: &str) -> Result<Vec<Executed>, Error> {
    let mut executed = Vec::new();
    let mut file: Option<&str> = None;
    let mut functions: Vec<(u32, &str)> = Vec::new();
    let mut records = false;
    for (at, line) in text.lines().enumerate() {
        let error = |reason: &str| Error::Format {
            path: path.to_owned(),
            line: at + 1,
            reason: reason.to_owned(),
        };
        let (key, value) = line.trim().split_once(':').unwrap_or((line.trim(), ""));
        match key {
            "SF" => {
                file = Some(value);
                functions.clear();
                records = true;
            }
            "FN" => {
                let mut cells = value.split(',');
                let start = cells.next().and_then(|cell| cell.parse().ok());
                // lcov 2 puts the last line between the first and the name.
                let (Some(start), Some(name)) = (start, cells.next_back()) else {
                    return Err(error("expected FN:<line>,<name>"));
                };
                functions.push((start, name));
            }
            "DA" => {
                let mut cells = value.split(',');
                let number = cells.next().and_then(|cell| cell.parse::<u32>().ok());
                let count = cells.next().and_then(|cell| cell.parse::<f64>().ok());
                let (Some(number), Some(count)) = (number, count) else {
                    return Err(error("expected DA:<line>,<count>"));
                };
                let Some(file) = file else {
                    return Err(error("a DA record before any SF record"));
                };
                if count > 0.0 {
                    let around = functions.iter().filter(|(start, _)| *start <= number);
                    let function = around.max_by_key(|(start, _)| *start);
                    executed.push(Executed {
                        file: file.to_owned(),
                        line: number,
                        function: function.map_or("", |(_, name)| *name).to_owned(),
                    });
                }
            }
            "end_of_record" => file = None,
            _ => {}
        }
    }
    if !records {
        return Err(Error::Format {
            path: path.to_owned(),
            line: 1,
            reason: "no SF record: this is no lcov tracefile".into(),
        });
    }
    Ok(executed)
}

#[derive(serde::Deserialize)]
struct Report {
    #[serde(default)]
    current_working_directory: String,
    files: Vec<ReportedFile>,
}

#[derive(serde::Deserialize)]
struct ReportedFile {
    file: String,
    lines: Vec<ReportedLine>,
}

#[derive(serde::Deserialize)]
struct ReportedLine {
    line_number: u32,
    count: f64,
    #[serde(default)]
    function_name: String,
}

/// The executed lines of what `gcov --json-format --stdout` prints: one JSON value per line, one line
/// per object. Files are made absolute. `path` is for messages.
pub fn gcov_json(path: &Path, text: &str) -> Result<Vec<Executed>, Error> {
    let mut executed = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let report: Report = serde_json::from_str(line).map_err(|error| Error::Format {
            path: path.to_owned(),
            line: at + 1,
            reason: format!("no JSON of gcov's: {error}"),
        })?;
        for file in &report.files {
            let name = match file.file.starts_with('/') {
                true => file.file.clone(),
                false => format!("{}/{}", report.current_working_directory, file.file),
            };
            executed.extend(
                file.lines
                    .iter()
                    .filter(|line| line.count > 0.0)
                    .map(|line| Executed {
                        file: name.clone(),
                        line: line.line_number,
                        function: line.function_name.clone(),
                    }),
            );
        }
    }
    Ok(executed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(file: &str, line: u32, function: &str) -> Executed {
        Executed {
            file: file.into(),
            line,
            function: function.into(),
        }
    }

    #[test]
    fn tracefiles_are_read() {
        let text = "TN:\nSF:/src/a.c\nFN:3,f\nFN:10,14,g\nFNDA:1,f\nDA:4,1\nDA:5,0\nDA:11,7\nLF:3\nend_of_record\n\
                    SF:/src/b.c\nDA:1,2\nend_of_record\n";
        let expected = [
            executed("/src/a.c", 4, "f"),
            executed("/src/a.c", 11, "g"),
            executed("/src/b.c", 1, ""),
        ];
        assert_eq!(lcov(Path::new("x.info"), text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_tracefile_is_refused_with_its_line() {
        let message = |text| lcov(Path::new("x.info"), text).unwrap_err().to_string();
        assert_eq!(
            message("hello"),
            "x.info:1: no SF record: this is no lcov tracefile"
        );
        assert!(message("SF:a\nDA:x,1").starts_with("x.info:2: expected DA"));
        assert!(message("SF:a\nend_of_record\nDA:1,1").contains("before any SF"));
    }

    #[test]
    fn gcovs_json_is_read() {
        let text = r#"{"current_working_directory":"/b","files":[{"file":"a.c","lines":[{"line_number":3,"count":1,"function_name":"f"},{"line_number":4,"count":0}]}]}"#;
        assert_eq!(
            gcov_json(Path::new("o"), text).unwrap(),
            [executed("/b/a.c", 3, "f")]
        );
        assert!(gcov_json(Path::new("o"), "nothing").is_err());
    }
}

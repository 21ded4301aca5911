//! Pipelines in `opt -passes=` syntax: which passes they hold, and each pass on its own.

use crate::Error;

/// An element of a pipeline: `name<parameters>(inner)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// With its parameters, as written.
    pub name: String,
    /// What an adaptor holds.
    pub inner: Vec<Element>,
}

/// Reads a pipeline.
pub fn parse(pipeline: &str) -> Result<Vec<Element>, Error> {
    let mut parser = Parser {
        rest: pipeline.trim(),
    };
    let wrong = |reason: &str| Error::BadPipeline {
        pipeline: pipeline.to_owned(),
        reason: reason.to_owned(),
    };
    let all = parser.list(0).map_err(wrong)?;
    match parser.rest.is_empty() {
        true => Ok(all),
        false => Err(wrong("a `)` too many")),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn list(&mut self, depth: usize) -> Result<Vec<Element>, &'static str> {
        /// No real pipeline nests deeper.
        const DEEPEST: usize = 32;
        if depth > DEEPEST {
            return Err("it nests too deep");
        }
        let mut all = Vec::new();
        loop {
            let name = self.name()?;
            let mut inner = Vec::new();
            if let Some(rest) = self.rest.strip_prefix('(') {
                self.rest = rest;
                inner = self.list(depth + 1)?;
                self.rest = self.rest.strip_prefix(')').ok_or("a `)` is missing")?;
            }
            if !name.is_empty() {
                all.push(Element { name, inner });
            }
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => return Ok(all),
            }
        }
    }

    /// Up to the next `,`, `(` or `)` outside of `<>`.
    fn name(&mut self) -> Result<String, &'static str> {
        let mut open = 0usize;
        let mut end = self.rest.len();
        for (index, c) in self.rest.char_indices() {
            match c {
                '<' => open += 1,
                '>' => open = open.checked_sub(1).ok_or("a `>` without `<`")?,
                ',' | '(' | ')' if open == 0 => {
                    end = index;
                    break;
                }
                _ => {}
            }
        }
        if open > 0 {
            return Err("a `>` is missing");
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(name.trim().to_owned())
    }
}

/// A pass without its parameters.
pub fn base(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

/// What changes no code, or is put there by test authors to look at the result.
fn is_bystander(name: &str) -> bool {
    const BYSTANDERS: [&str; 12] = [
        "verify",
        "debugify",
        "check-debugify",
        "print",
        "require",
        "invalidate",
        "no-op-module",
        "no-op-function",
        "no-op-loop",
        "view-cfg",
        "strip-dead-debug-info",
        "print-alias-sets",
    ];
    BYSTANDERS.contains(&base(name))
}

/// Whether a name stands for a whole pipeline.
pub fn is_composite(name: &str) -> bool {
    [
        "default",
        "thinlto",
        "thinlto-pre-link",
        "lto",
        "lto-pre-link",
    ]
    .contains(&base(name))
        || name.len() == 2 && name.starts_with('O')
}

/// The passes of a pipeline that change code, adaptors and bystanders left out. What is not a pipeline
/// has none.
pub fn passes(pipeline: &str) -> Vec<String> {
    fn collect(elements: &[Element], found: &mut Vec<String>) {
        for element in elements {
            match element.inner.is_empty() {
                true if !is_bystander(&element.name) => {
                    found.push(element.name.clone());
                    if is_composite(&element.name) {
                        found.push(element.name.clone());
                    }
                }
                true => {}
                false => collect(&element.inner, found),
            }
        }
    }
    let mut found = Vec::new();
    if let Ok(elements) = parse(pipeline) {
        collect(&elements, &mut found);
    }
    found
}

/// The pipeline without bystanders, so that what is run is what is judged.
pub fn bare(pipeline: &str) -> String {
    fn write(elements: &[Element]) -> Vec<String> {
        elements
            .iter()
            .filter(|element| !element.inner.is_empty() || !is_bystander(&element.name))
            .map(|element| match element.inner.is_empty() {
                true => element.name.clone(),
                false => format!("{}({})", element.name, write(&element.inner).join(",")),
            })
            .filter(|text| !text.ends_with("()"))
            .collect()
    }
    match parse(pipeline) {
        Ok(elements) => write(&elements).join(","),
        Err(_) => pipeline.to_owned(),
    }
}

/// Each pass of a pipeline with its adaptors around it, in order.
pub fn each(pipeline: &str) -> Result<Vec<String>, Error> {
    fn collect(elements: &[Element], around: &dyn Fn(&str) -> String, found: &mut Vec<String>) {
        for element in elements {
            if element.inner.is_empty() {
                if !is_bystander(&element.name) {
                    found.push(around(&element.name));
                }
            } else {
                let wrapped = |inner: &str| around(&format!("{}({inner})", element.name));
                collect(&element.inner, &wrapped, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(&parse(pipeline)?, &str::to_owned, &mut found);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_found_inside_adaptors() {
        assert_eq!(passes("licm"), ["licm"]);
        assert_eq!(
            passes("function(loop-mssa(licm,loop-rotate<a;b>))"),
            ["licm", "loop-rotate<a;b>"]
        );
        assert_eq!(
            passes("debugify,require<domtree>,simplifycfg<no-x>,verify"),
            ["simplifycfg<no-x>"]
        );
        assert_eq!(passes("default<O2>").len(), 2);
    }

    #[test]
    fn each_pass_keeps_its_adaptors() {
        let all = each("a,function<eager-inv>(b,loop-mssa(c<x,y>,d)),e").unwrap();
        assert_eq!(
            all,
            [
                "a",
                "function<eager-inv>(b)",
                "function<eager-inv>(loop-mssa(c<x,y>))",
                "function<eager-inv>(loop-mssa(d))",
                "e"
            ]
        );
    }

    #[test]
    fn bystanders_go() {
        assert_eq!(
            bare("function(debugify,licm,verify),print<x>"),
            "function(licm)"
        );
        assert_eq!(bare("function(verify),gvn"), "gvn");
    }

    #[test]
    fn mistakes_are_named() {
        for wrong in ["a(b", "a)", "a<b"] {
            assert!(
                matches!(parse(wrong), Err(Error::BadPipeline { .. })),
                "{wrong}"
            );
        }
    }
}

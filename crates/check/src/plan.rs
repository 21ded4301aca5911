//! Which points get a barrier, and the program with the barriers in it.
//!
//! Line augmentation, paper 000 §4.3: an external call before a statement gives every build a place
//! to stop that no optimisation removes. Barriers stand on the line of their statement, so lines in
//! the debug information are the user's lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use candor_dwarf::Leaf;
use candor_source::instrument::{BARRIER_HEADER, barrier_call, barriers, is_barrier};
use candor_source::rust::BARRIER_DECLARATION;
use candor_source::{Clang, EditSet, Point, SkipReason, Storage, Unit};
use candor_toolchain::Program;

use crate::Error;
use crate::rounds::Effort;

/// Which of a program's points are looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum PointChoice {
    /// Every one.
    All,
    /// A share of them, chosen by the seed. Fewer barriers perturb the optimiser less.
    Share {
        /// Between 0 and 1.
        fraction: f64,
        /// Decides which.
        seed: u64,
    },
    /// The paper's single actionable program P<s,v>.
    At {
        /// s
        line: u32,
        /// v
        variable: String,
    },
    /// These, by their numbers in source order.
    Only(Vec<usize>),
    /// The barriers that the program's own text has; none is added.
    Own,
    /// None: the program as it is, in the quiet round alone.
    None,
    /// Several builds with different barriers, and one with none ([`crate::rounds`]).
    Rounds(Effort),
}

/// The instrumented program and what the oracle needs to know of its source.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The parsed original.
    pub unit: Arc<Unit>,
    /// Indices of the chosen points in `unit.points().points`.
    pub chosen: Vec<usize>,
    /// The program to build: barriers in place, ready to compile on its own.
    pub text: String,
    /// Per debug line, the points chosen on it with the column their barrier has in `text`.
    on_line: BTreeMap<u32, Vec<(u32, usize)>>,
    /// Only this variable is compared.
    pub only: Option<String>,
}

impl Plan {
    /// Parses `program` and puts barriers before the chosen points.
    pub fn new(clang: &Clang, program: &Program, choice: &PointChoice) -> Result<Self, Error> {
        let unit = if program.is_rust() {
            candor_source::rust::parse(&program.path, &program.text)?
        } else {
            clang.parse(&program.path, Some(&program.text), &program.flags)?
        };
        Self::of(unit, program, choice)
    }

    /// The same for a program that is parsed already.
    pub fn of(unit: Unit, program: &Program, choice: &PointChoice) -> Result<Self, Error> {
        Self::shared(Arc::new(unit), &program.path, choice)
    }

    /// The same program with other barriers.
    pub fn with_points(&self, program: &Program, choice: &PointChoice) -> Result<Self, Error> {
        let mut plan = Self::shared(self.unit.clone(), &program.path, choice)?;
        plan.only.clone_from(&self.only);
        Ok(plan)
    }

    fn shared(unit: Arc<Unit>, path: &Path, choice: &PointChoice) -> Result<Self, Error> {
        let points = &unit.points().points;
        let mut only = None;
        let mut chosen: BTreeSet<usize> = match choice {
            PointChoice::All | PointChoice::Rounds(_) => points
                .iter()
                .filter(|point| !is_silent(&unit, point.function))
                .map(|point| point.id)
                .collect(),
            PointChoice::Only(numbers) => {
                if let Some(unknown) = numbers.iter().find(|number| **number >= points.len()) {
                    return Err(Error::unfit(format!(
                        "it has no point p{unknown}; its points are p0 to p{}",
                        points.len().saturating_sub(1)
                    )));
                }
                numbers.iter().copied().collect()
            }
            PointChoice::Own | PointChoice::None => BTreeSet::new(),
            PointChoice::Share { fraction, seed } => (0..points.len())
                .filter(|index| unit_interval(*seed, *index as u64) < *fraction)
                .collect(),
            PointChoice::At { line, variable } => {
                let name = candor_dwarf::root_of(variable);
                let actionable = candor_source::instrument::at(&unit, *line, name)?;
                only = Some(variable.clone());
                BTreeSet::from([actionable.point.id])
            }
        };
        // what stands in the text is there in every build
        chosen.extend(
            points
                .iter()
                .filter(|point| is_barrier(&unit, point))
                .map(|point| point.id),
        );
        let chosen: Vec<usize> = chosen.into_iter().collect();
        if points.is_empty() {
            return Err(Error::unfit(
                "it has no statement before which a barrier can stand",
            ));
        }
        let (mut text, on_line) = with_barriers(&unit, &chosen, path)?;
        if *choice == PointChoice::None {
            text = unit.text().to_owned();
        }
        Ok(Plan {
            unit,
            chosen,
            text,
            on_line,
            only,
        })
    }

    /// The points, chosen or not.
    pub fn points(&self) -> &[Point] {
        &self.unit.points().points
    }

    /// Whether the program's own text calls the barrier.
    pub fn has_own_barriers(&self) -> bool {
        self.points()
            .iter()
            .any(|point| is_barrier(&self.unit, point))
    }

    /// What was passed over, and why.
    pub fn skipped(&self) -> &BTreeMap<SkipReason, usize> {
        &self.unit.points().skipped
    }

    /// The point whose barrier call the debug information puts at `line` and `column`: the last one
    /// at or before the column (compilers differ in which character of a call they name).
    pub fn point_at(&self, line: u32, column: Option<u32>) -> Option<&Point> {
        let here = self.on_line.get(&line)?;
        let index = match (here.as_slice(), column) {
            ([(_, only)], _) => *only,
            (several, Some(column)) => several.iter().rev().find(|(at, _)| *at <= column)?.1,
            _ => return None,
        };
        self.points().get(index)
    }

    /// Whether a local variable is declared before the barrier and is the one its name means there.
    pub fn is_visible(&self, point: &Point, name: &str, decl_line: u32) -> bool {
        self.unit
            .visible_at(point)
            .iter()
            .any(|variable| variable.name == name && variable.debug_line == decl_line)
    }

    /// Whether a local of a Rust program has its value at a point for certain: it is the one its name means there, no
    /// other shares name and line with it, and if its type is not `Copy` nothing can have moved it away.
    pub fn is_whole(&self, point: &Point, leaf: &Leaf) -> bool {
        let key = &leaf.key;
        let copied = || leaf.owning.iter().all(|name| self.unit.is_copy_type(name));
        self.unit.visible_at(point).iter().any(|variable| {
            variable.name == *key.variable
                && variable.debug_line == key.decl_line.0
                && self.unit.is_distinct(variable)
                && (self.unit.is_whole(point, variable) || copied())
        })
    }

    /// Whether a file-scope or local variable called `name`, declared at `decl_line`, is `static`.
    pub fn is_static(&self, name: &str, decl_line: u32) -> bool {
        self.unit.variables().iter().any(|variable| {
            variable.name == name
                && variable.debug_line == decl_line
                && variable.storage == Storage::Static
        })
    }

    /// Whether it is a `static` that a C program never reads.
    pub fn is_write_only(&self, name: &str, decl_line: u32) -> bool {
        self.is_static(name, decl_line) && !self.unit.is_ever_read(name, decl_line)
    }

    /// Where the barriers are, as offsets in the original.
    pub fn barriers(&self) -> Vec<usize> {
        let points = self.chosen.iter().filter_map(|id| self.points().get(*id));
        points
            .filter(|point| !is_barrier(&self.unit, point))
            .map(|point| point.offset)
            .collect()
    }

    /// The text of the line a point is on; without a point, of the line with that number.
    pub fn source_line(&self, point: Option<usize>, line: u32) -> String {
        let point = point.and_then(|point| self.points().get(point));
        let line = point.map_or(line, |point| point.line);
        usize::try_from(line)
            .ok()
            .and_then(|line| self.unit.text().lines().nth(line.checked_sub(1)?))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// The original with print statements before points: the paper's shadow program (§4.2).
    pub fn with_statements(
        &self,
        path: &Path,
        header: &str,
        statements: &[(usize, String)],
    ) -> Result<String, Error> {
        let mut edits = EditSet::new();
        for (point, statement) in statements {
            if let Some(point) = self.points().get(*point) {
                edits.insert(point.offset, format!("{statement} "));
            }
        }
        let text = edits.apply(self.unit.text())?;
        Ok(if self.unit.is_rust() {
            text + header
        } else {
            prologue(header, path) + &text
        })
    }
}

/// The attribute that keeps barriers out of a function, as it keeps out the compilers' own hooks.
pub const SILENT: &str = "__attribute__((no_instrument_function))";

/// Whether a function asks to be left alone: `candor reduce` spells out functions of headers, which had
/// no barriers there, and spelling them out must not change what is looked at.
fn is_silent(unit: &Unit, function: usize) -> bool {
    !unit.is_rust()
        && unit.functions().get(function).is_some_and(|function| {
            unit.text()
                .get(function.span.start..function.body.start)
                .is_some_and(|head| head.contains("no_instrument_function"))
        })
}

/// The prototype in front, and line numbers as if it were not there. In the text and not in a header
/// of its own, so that a compiler behind a wrapper needs one file only.
fn prologue(header: &str, path: &Path) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().replace(['"', '\\', '\n'], "_"))
        .unwrap_or_default();
    format!("{header}#line 1 \"{name}\"\n")
}

type OnLine = BTreeMap<u32, Vec<(u32, usize)>>;

fn with_barriers(unit: &Unit, chosen: &[usize], path: &Path) -> Result<(String, OnLine), Error> {
    let call = barrier_call(unit);
    let mut points = Vec::new();
    let mut on_line: OnLine = BTreeMap::new();
    for &index in chosen {
        let Some(point) = unit.points().points.get(index) else {
            continue;
        };
        points.push(point);
        on_line
            .entry(point.debug_line)
            .or_default()
            .push((point.column, index));
    }
    for on_line in on_line.values_mut() {
        on_line.sort_unstable();
        let mut inserted = 0;
        for (column, index) in on_line {
            *column += inserted * call.len() as u32;
            let own = unit.points().points.get(*index);
            inserted += u32::from(!own.is_some_and(|point| is_barrier(unit, point)));
        }
    }
    let text = barriers(unit, &points)?;
    let text = if unit.is_rust() {
        text + BARRIER_DECLARATION
    } else {
        prologue(BARRIER_HEADER, path) + &text
    };
    Ok((text, on_line))
}

/// A number in [0, 1) that depends on seed and index only (SplitMix64's finaliser).
fn unit_interval(seed: u64, index: u64) -> f64 {
    let mut z = seed
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str, choice: &PointChoice) -> Plan {
        let clang = Clang::find().unwrap();
        let program = Program::from_text(Path::new("p.c"), text.into());
        Plan::new(&clang, &program, choice).unwrap()
    }

    #[test]
    fn barriers_keep_every_statement_on_its_line() {
        let text = "int g;\nint main(void) {\n  int a = 1; g = a; g++;\n  return g;\n}\n";
        let plan = plan(text, &PointChoice::All);
        let body: Vec<&str> = plan.text.lines().skip(2).collect();
        assert_eq!(
            body[2],
            "  opt_me_not(); int a = 1; opt_me_not(); g = a; opt_me_not(); g++;"
        );
        assert_eq!(body.len(), text.lines().count());
        // the column of the second call on the line leads to the second statement
        let second = body[2].match_indices("opt_me_not").nth(1).unwrap().0 as u32 + 1;
        let point = plan.point_at(3, Some(second)).unwrap();
        assert!(plan.unit.text()[point.offset..].starts_with("g = a;"));
        let paren = second + "opt_me_not".len() as u32;
        assert_eq!(plan.point_at(3, Some(paren)).unwrap().id, point.id);
        assert!(plan.is_visible(point, "a", 3));
        let first = plan.point_at(3, Some(3)).unwrap();
        assert!(!plan.is_visible(first, "a", 3));
    }

    #[test]
    fn a_function_that_asks_for_it_gets_no_barriers() {
        let text = format!(
            "int g;\nstatic {SILENT} void quiet(void) {{\n  g = 1;\n}}\nint main(void) {{\n  quiet();\n  return g;\n}}\n"
        );
        let plan = plan(&text, &PointChoice::All);
        let lines: Vec<u32> = plan
            .chosen
            .iter()
            .map(|point| plan.points()[*point].line)
            .collect();
        assert_eq!(lines, [6, 7]);
    }

    #[test]
    fn shares_are_decided_by_the_seed() {
        let body: String = (0..200).map(|i| format!("  g = {i};\n")).collect();
        let text = format!("int g;\nint main(void) {{\n{body}  return 0;\n}}\n");
        let pick = |seed| {
            plan(
                &text,
                &PointChoice::Share {
                    fraction: 0.2,
                    seed,
                },
            )
            .chosen
        };
        assert_eq!(pick(1), pick(1));
        assert_ne!(pick(1), pick(2));
        assert!((20..60).contains(&pick(3).len()));
    }
}

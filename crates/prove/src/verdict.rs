//! What a function came to: proved, different or undecided, with everything a person or `repair` wants to know.

use serde::{Deserialize, Serialize};

use crate::invariant::{Definition, Hypothesis, Node};
use crate::ir::Function;
use crate::product::{Edge, From, Product, Realised, Settled};
use crate::prove::Task;
use crate::region::MachineEnd;
use crate::trace::Difference;
use crate::x86::Place;

/// The verdict on one function.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The function.
    pub function: String,
    /// Where it is defined, 0 if unknown.
    pub line: u32,
    /// What it came to.
    pub outcome: Outcome,
    /// Questions to the solver.
    pub queries: u64,
    /// Of these, answered from the cache.
    pub cached: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Of these, waiting for the solver.
    pub solver_seconds: f64,
}

/// What a function came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "detail")]
pub enum Outcome {
    /// The machine code computes what the source says.
    Proved(Box<Proof>),
    /// It does not, and this input shows it.
    Different(Difference),
    /// It could not be decided, and this is why.
    Undecided(String),
}

impl Verdict {
    pub(crate) fn undecided(function: &str, reason: String) -> Self {
        Verdict {
            function: function.to_owned(),
            line: 0,
            outcome: Outcome::Undecided(reason),
            queries: 0,
            cached: 0,
            seconds: 0.0,
            solver_seconds: 0.0,
        }
    }

    /// Whether the function is proved.
    pub fn is_proved(&self) -> bool {
        matches!(self.outcome, Outcome::Proved(_))
    }
}

/// A proof: the product program and its claims. Also what a certificate holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The function.
    pub function: String,
    /// Pairs of loop heads with their claims.
    pub nodes: Vec<Node>,
    /// Edges between them.
    pub edges: Vec<ProofEdge>,
    /// Residues that integer parameters are split by, where needed.
    pub modulus: Option<u64>,
    /// Rounds of dropping claims.
    pub rounds: usize,
    /// Correlations tried.
    pub tried: usize,
    /// The claims in words.
    pub claims: Vec<Claims>,
    /// Which source steps the machine's stores realise.
    #[serde(default)]
    pub stores: Vec<ProofStore>,
}

/// A store of the machine code, and the source steps whose stores it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofStore {
    /// The loop head that the edge starts from; none for the entry.
    pub from: From,
    /// The instruction.
    pub at: u64,
    /// What it realises.
    pub realised: Realised,
}

/// An edge of the product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofEdge {
    /// Machine address of the start; none for the entry.
    pub from: From,
    /// Where it ends.
    pub to: MachineEnd,
    /// Source steps and pins.
    pub edge: Edge,
    /// Source values that are numbers on it.
    #[serde(default)]
    pub settled: Settled,
}

/// The claims of a node as a person would write them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Machine address of the loop head.
    pub at: u64,
    /// Source line of the loop.
    pub line: u32,
    /// Source iterations per machine iteration, where that is one number.
    pub pace: Option<usize>,
    /// Definitions, solved for source variables where they can be.
    pub equations: Vec<String>,
    /// Conditions.
    pub conditions: Vec<String>,
}

impl Proof {
    pub(crate) fn new(task: &Task<'_>, product: &Product<'_>, rounds: usize, tried: usize) -> Self {
        let nodes: Vec<Node> = product.nodes.values().cloned().collect();
        let edges = product
            .edges
            .iter()
            .map(|((from, to), edge)| ProofEdge {
                from: *from,
                to: *to,
                edge: edge.clone(),
                settled: product
                    .settled
                    .get(&(*from, *to))
                    .cloned()
                    .unwrap_or_default(),
            })
            .collect();
        let claims = nodes
            .iter()
            .map(|node| describe(task, product, node))
            .collect();
        Proof {
            function: task.function.name.clone(),
            nodes,
            edges,
            modulus: product.modulus,
            rounds,
            tried,
            claims,
            stores: product
                .stores
                .iter()
                .map(|((from, at), realised)| ProofStore {
                    from: *from,
                    at: *at,
                    realised: realised.clone(),
                })
                .collect(),
        }
    }
}

fn describe(task: &Task<'_>, product: &Product<'_>, node: &Node) -> Claims {
    let own = product
        .edges
        .get(&(Some(node.at), MachineEnd::Head(node.at)));
    let pace = own.and_then(|edge| match edge.steps.len() {
        1 => edge.steps.first().copied(),
        _ => None,
    });
    Claims {
        at: node.at,
        line: task.function.block(node.head).line,
        pace,
        equations: node
            .invariants
            .iter()
            .map(|invariant| equation(task, invariant))
            .collect(),
        conditions: node
            .hypotheses
            .iter()
            .filter_map(|hypothesis| condition(task.function, hypothesis))
            .collect(),
    }
}

fn place(task: &Task<'_>, place: Place) -> String {
    // the symbol that begins at or before the place
    let symbol = task
        .image
        .symbols
        .values()
        .filter(|symbol| {
            !symbol.function
                && symbol.place.unit == place.unit
                && symbol.place.offset <= place.offset
                && place.offset <= symbol.place.offset + symbol.size as i64
                && symbol.size > 0
        })
        .max_by_key(|symbol| symbol.place.offset);
    match symbol {
        Some(symbol) if place.offset == symbol.place.offset => symbol.name.clone(),
        Some(symbol) => format!("{} + {}", symbol.name, place.offset - symbol.place.offset),
        None => place.offset.to_string(),
    }
}

fn sum(task: &Task<'_>, terms: &[(i64, crate::invariant::Column)], constant: Place) -> String {
    let mut text = String::new();
    for (factor, column) in terms {
        let name = column.show(task.function);
        let magnitude = factor.unsigned_abs();
        text.push_str(match (text.is_empty(), *factor < 0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        });
        if magnitude == 1 {
            text.push_str(&name);
        } else {
            text.push_str(&format!("{magnitude}·{name}"));
        }
    }
    if constant.offset != 0 || constant.unit.is_some() || text.is_empty() {
        let number = place(task, constant);
        match number.strip_prefix('-') {
            Some(positive) if !text.is_empty() => text.push_str(&format!(" - {positive}")),
            _ if text.is_empty() => text.push_str(&number),
            _ => text.push_str(&format!(" + {number}")),
        }
    }
    text
}

fn equation(task: &Task<'_>, invariant: &crate::invariant::Invariant) -> String {
    let name = invariant.column.show(task.function);
    match &invariant.by {
        Definition::Affine {
            terms, constant, ..
        } => {
            if let Some(solved) = solved(task, &name, terms, *constant) {
                return solved;
            }
            format!("{name} = {}", sum(task, terms, *constant))
        }
        Definition::Cell { terms, constant } => {
            format!("{name} = memory[{}]", sum(task, terms, *constant))
        }
        Definition::Extreme { greatest, of } => {
            let names: Vec<String> = of.iter().map(|column| column.show(task.function)).collect();
            let function = if *greatest { "max" } else { "min" };
            format!("{name} = {function}({})", names.join(", "))
        }
        Definition::Term(_) => format!("{name} keeps the value it had before the loop"),
        Definition::Saved(register) => {
            format!(
                "{name} = the caller's {}",
                crate::x86::NAMES[*register as usize]
            )
        }
    }
}

/// `rax = 4·i + 16` as `i = (rax - 16)/4`; lanes of a sum as `sum = lane + lane + ...`.
fn solved(
    task: &Task<'_>,
    name: &str,
    terms: &[(i64, crate::invariant::Column)],
    constant: Place,
) -> Option<String> {
    let (factor, column) = terms.iter().find(|(_, column)| column.is_source())?;
    let variable = column.show(task.function);
    let others: Vec<(i64, crate::invariant::Column)> = terms
        .iter()
        .filter(|(_, other)| other != column)
        .copied()
        .collect();
    if *factor == 1 && !others.is_empty() && others.iter().all(|(k, c)| *k == -1 && !c.is_source())
    {
        // lane0 = sum - lane1 - ...
        let mut parts = vec![name.to_owned()];
        parts.extend(others.iter().map(|(_, column)| column.show(task.function)));
        let mut text = format!("{variable} = {}", parts.join(" + "));
        if constant.offset != 0 {
            text.push_str(&format!(" - ({})", constant.offset));
        }
        return Some(text);
    }
    if !others.is_empty() {
        return None;
    }
    let offset = place(task, constant);
    let difference = match (constant.offset, constant.unit) {
        (0, None) => name.to_owned(),
        (number, None) if number < 0 => format!("{name} + {}", number.unsigned_abs()),
        _ if offset.contains(' ') => format!("{name} - ({offset})"),
        _ => format!("{name} - {offset}"),
    };
    Some(match *factor {
        1 => format!("{variable} = {difference}"),
        -1 => format!("{variable} = -({difference})"),
        _ if difference == name => format!("{variable} = {name}/{factor}"),
        _ => format!("{variable} = ({difference})/{factor}"),
    })
}

fn condition(function: &Function, hypothesis: &Hypothesis) -> Option<String> {
    Some(match hypothesis {
        Hypothesis::AtLeast(column, bound) => format!("{} >= {bound}", column.show(function)),
        Hypothesis::AtMost(column, bound) => format!("{} <= {bound}", column.show(function)),
        Hypothesis::Mod(column, modulus, rest) | Hypothesis::ModAny(column, modulus, rest) => {
            format!("{} mod {modulus} = {rest}", column.show(function))
        }
        Hypothesis::Less(a, b) => format!("{} < {}", a.show(function), b.show(function)),
        Hypothesis::LessEqual(a, b) => format!("{} <= {}", a.show(function), b.show(function)),
        Hypothesis::Below(a, b) => {
            format!("{} < {} (unsigned)", a.show(function), b.show(function))
        }
        Hypothesis::BelowEqual(a, b) => {
            format!("{} <= {} (unsigned)", a.show(function), b.show(function))
        }
        Hypothesis::ModDifference(a, b, modulus, rest) => format!(
            "({} - {}) mod {modulus} = {rest}",
            a.show(function),
            b.show(function)
        ),
        Hypothesis::ModSum(..) | Hypothesis::SumAtMostZero(_) | Hypothesis::Literal(_) => {
            return None;
        }
    })
}

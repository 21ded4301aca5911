//! Algorithm 2's location sets: which lines lie on the paths through a block (paper 002, section 3.2).
//!
//! The paper walks paths that enter each loop once. No path needs to be walked: the lines on all such
//! paths through a block are those of its ancestors, itself and its descendants in a suitable graph.
//! "Each loop once" can be read three ways, which differ in one or two percent of all pairs:
//! - **D**: the graph without the back edges of a depth-first search (simple paths; exact for
//!   reducible graphs);
//! - **R**: the graph as it is (any number of rounds);
//! - **X**: D with edges from each latch to the exits of its loop (round once, then leave).
//!
//! The set abstraction is blind to an edge that skips a block without lines of its own, so it is
//! complemented by [`avoids`]: is there a path through the block that meets none of the sources?

use std::collections::BTreeSet;

use candor_llvm::{Function, Opcode};

/// A reading of "each loop once".
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Reading {
    /// Without back edges.
    D,
    /// As it is.
    R,
    /// Round once, then leave.
    X,
}

impl Reading {
    /// All of them.
    pub const ALL: [Reading; 3] = [Reading::D, Reading::R, Reading::X];
}

/// A set of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSet(Vec<u64>);

impl LineSet {
    /// Adds a line.
    pub fn insert(&mut self, line: u32) {
        let word = line as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (line % 64);
        }
    }

    /// Adds all lines of another set.
    pub fn extend(&mut self, other: &LineSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            *ours |= theirs;
        }
    }

    /// Whether every line is in `other` too.
    pub fn is_subset(&self, other: &LineSet) -> bool {
        self.0
            .iter()
            .enumerate()
            .all(|(index, bits)| bits & !other.0.get(index).copied().unwrap_or(0) == 0)
    }

    /// Whether a line is in it.
    pub fn contains(&self, line: u32) -> bool {
        let word = self.0.get(line as usize / 64).copied().unwrap_or(0);
        word >> (line % 64) & 1 == 1
    }

    /// The lines, ascending.
    pub fn lines(&self) -> Vec<u32> {
        let last = u32::try_from(self.0.len() * 64).unwrap_or(u32::MAX);
        (0..last).filter(|line| self.contains(*line)).collect()
    }
}

/// The control-flow graph of a function in all three readings, with the lines of its blocks.
#[derive(Clone, Debug)]
pub struct Graph {
    successors: [Vec<Vec<usize>>; 3],
    predecessors: [Vec<Vec<usize>>; 3],
    lines: Vec<LineSet>,
    known: std::collections::HashMap<(usize, usize), LineSet>,
}

impl Graph {
    /// The graph of `function`.
    pub fn new(function: &Function) -> Self {
        let full: Vec<Vec<usize>> = function
            .blocks
            .iter()
            .map(|block| block.successors.clone())
            .collect();
        let back = back_edges(&full);
        let dag: Vec<Vec<usize>> = full
            .iter()
            .enumerate()
            .map(|(from, to)| {
                let forward = |to: &&usize| !back.contains(&(from, **to));
                to.iter().filter(forward).copied().collect()
            })
            .collect();
        let full_back = reversed(&full);
        let mut round = dag.clone();
        for &(latch, header) in &back {
            let exits = loop_exits(&full, &full_back, latch, header);
            if let Some(successors) = round.get_mut(latch) {
                successors.extend(exits);
            }
        }
        let lines = function
            .blocks
            .iter()
            .map(|block| {
                let mut set = LineSet::default();
                for one in block.insts.iter().filter(|one| !one.is_debug) {
                    if let Some(line) = one.location.line() {
                        set.insert(line);
                    }
                }
                set
            })
            .collect();
        let successors = [dag, full, round];
        Graph {
            predecessors: [0, 1, 2].map(|n: usize| reversed(&successors[n])),
            successors,
            lines,
            known: std::collections::HashMap::new(),
        }
    }

    /// The lines on the paths through `block`.
    pub fn lines_through(&mut self, block: usize, reading: Reading) -> &LineSet {
        let index = reading as usize;
        let (successors, predecessors) = (&self.successors[index], &self.predecessors[index]);
        let lines = &self.lines;
        self.known.entry((block, index)).or_insert_with(|| {
            let below = reachable(successors, block);
            let above = reachable(predecessors, block);
            let mut set = LineSet::default();
            for (index, lines) in lines.iter().enumerate() {
                if below.get(index) == Some(&true) || above.get(index) == Some(&true) {
                    set.extend(lines);
                }
            }
            set
        })
    }

    /// A path from the entry through `first` and `second` (in whichever order there is one), as block
    /// numbers: what carries a line of one to the other.
    pub fn path_through(&self, first: usize, second: usize, reading: Reading) -> Vec<usize> {
        let successors = &self.successors[reading as usize];
        for (first, second) in [(first, second), (second, first)] {
            let (Some(head), Some(middle)) = (
                shortest(successors, 0, |block| block == first),
                shortest(successors, first, |block| block == second),
            ) else {
                continue;
            };
            let leaf = |block: usize| successors.get(block).is_none_or(Vec::is_empty);
            let tail = shortest(successors, second, leaf).unwrap_or_default();
            let mut path = head;
            path.extend(middle.into_iter().skip(1));
            path.extend(tail.into_iter().skip(1));
            return path;
        }
        Vec::new()
    }

    /// The blocks that have `line`.
    pub fn blocks_with(&self, line: u32) -> Vec<usize> {
        (0..self.lines.len())
            .filter(|block| self.lines.get(*block).is_some_and(|set| set.contains(line)))
            .collect()
    }
}

/// What the *avoid* check says about a block of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Avoid {
    /// Every path through the block meets a source.
    No,
    /// Only paths that end in `unreachable` avoid the sources.
    OnlyTraps,
    /// A path through the block to a real exit avoids the sources.
    Yes,
    /// The block is not in the input.
    Unknown,
}

/// Whether a path entry → `block` → exit of the input avoids every block in `sources`.
pub fn avoids(function: &Function, block: usize, sources: &BTreeSet<usize>) -> Avoid {
    avoiding_graph(function, block, sources).0
}

/// The answer, and the graph that gives it. Branches on one and the same value that lasts for the whole call
/// go the same way: a path that needs them to differ is none.
fn avoiding_graph(
    function: &Function,
    block: usize,
    sources: &BTreeSet<usize>,
) -> (Avoid, Vec<Vec<usize>>) {
    let whole = without(function, sources);
    let answer = avoids_in(function, &whole, block, sources);
    if answer == Avoid::No {
        return (answer, whole);
    }
    let decisions = repeated_decisions(function);
    let mut best = (Avoid::No, Vec::new());
    for choice in 0..1_usize << decisions.len() {
        let mut graph = whole.clone();
        for (n, blocks) in decisions.iter().enumerate() {
            for &decides in blocks {
                let taken = function.blocks.get(decides).and_then(|one| {
                    let taken = one.successors.get(choice >> n & 1)?;
                    (!sources.contains(taken)).then_some(*taken)
                });
                if let Some(edges) = graph.get_mut(decides) {
                    *edges = taken.into_iter().collect();
                }
            }
        }
        let answer = avoids_in(function, &graph, block, sources);
        if answer == Avoid::Yes {
            return (answer, graph);
        }
        if answer == Avoid::OnlyTraps {
            best = (answer, graph);
        }
    }
    best
}

/// Values looked at by [`avoiding_graph`]; each doubles the graphs.
const DECISIONS: usize = 6;

/// Blocks that branch on the same argument, or on the same comparison of arguments and constants.
fn repeated_decisions(function: &Function) -> Vec<Vec<usize>> {
    let comparisons: std::collections::HashMap<u64, Option<u64>> = function
        .blocks
        .iter()
        .flat_map(|block| &block.insts)
        .map(|one| (one.address, one.fixed_comparison))
        .collect();
    let mut by_value: std::collections::BTreeMap<(bool, u64), Vec<usize>> =
        std::collections::BTreeMap::new();
    for (index, block) in function.blocks.iter().enumerate() {
        let condition = block.insts.last().map(|last| last.operands.as_slice());
        let (Some(&[condition]), 2) = (condition, block.successors.len()) else {
            continue;
        };
        let key = match comparisons.get(&condition) {
            // No instruction: an argument.
            None => (false, condition),
            Some(Some(comparison)) => (true, *comparison),
            Some(None) => continue,
        };
        by_value.entry(key).or_default().push(index);
    }
    by_value
        .into_values()
        .filter(|blocks| blocks.len() > 1)
        .take(DECISIONS)
        .collect()
}

fn avoids_in(
    function: &Function,
    forward: &[Vec<usize>],
    block: usize,
    sources: &BTreeSet<usize>,
) -> Avoid {
    if sources.contains(&block) {
        return Avoid::No;
    }
    let above = reachable(&reversed(forward), block);
    if above.first() != Some(&true) || sources.contains(&0) {
        return Avoid::No;
    }
    let mut trap = false;
    for (index, reached) in reachable(forward, block).into_iter().enumerate() {
        let Some(one) = function.blocks.get(index).filter(|_| reached) else {
            continue;
        };
        if one.successors.is_empty() {
            match one.insts.last().map(|last| last.opcode) {
                Some(Opcode::UNREACHABLE) => trap = true,
                _ => return Avoid::Yes,
            }
        }
    }
    match trap {
        true => Avoid::OnlyTraps,
        false => Avoid::No,
    }
}

/// A path that shows [`Avoid::Yes`], as block numbers.
pub fn avoiding_path(function: &Function, block: usize, sources: &BTreeSet<usize>) -> Vec<usize> {
    let (_, forward) = avoiding_graph(function, block, sources);
    let leaf = |index: usize| {
        function.blocks.get(index).is_some_and(|one| {
            one.successors.is_empty()
                && one.insts.last().map(|last| last.opcode) != Some(Opcode::UNREACHABLE)
        })
    };
    let (Some(mut path), Some(tail)) = (
        shortest(&forward, 0, |index| index == block),
        shortest(&forward, block, leaf),
    ) else {
        return Vec::new();
    };
    path.extend(tail.into_iter().skip(1));
    path
}

/// Which blocks can be reached from the entry.
pub fn reached(function: &Function) -> Vec<bool> {
    reachable(&without(function, &BTreeSet::new()), 0)
}

/// The graph without edges into `sources`.
fn without(function: &Function, sources: &BTreeSet<usize>) -> Vec<Vec<usize>> {
    function
        .blocks
        .iter()
        .map(|one| {
            let kept = |to: &&usize| !sources.contains(to);
            one.successors.iter().filter(kept).copied().collect()
        })
        .collect()
}

fn reversed(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut back = vec![Vec::new(); graph.len()];
    for (from, to) in graph.iter().enumerate() {
        for to in to {
            if let Some(list) = back.get_mut(*to) {
                list.push(from);
            }
        }
    }
    back
}

fn reachable(graph: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        match seen.get_mut(block) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        work.extend(graph.get(block).into_iter().flatten());
    }
    seen
}

fn shortest(graph: &[Vec<usize>], from: usize, goal: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
    let mut before: Vec<Option<usize>> = vec![None; graph.len()];
    let mut work = std::collections::VecDeque::from([from]);
    let mut seen = vec![false; graph.len()];
    *seen.get_mut(from)? = true;
    while let Some(block) = work.pop_front() {
        if goal(block) {
            let mut path = vec![block];
            let mut at = block;
            while let Some(previous) = before.get(at).copied().flatten() {
                path.push(previous);
                at = previous;
            }
            path.reverse();
            return Some(path);
        }
        for &next in graph.get(block).into_iter().flatten() {
            if seen.get(next) == Some(&false) {
                seen[next] = true;
                before[next] = Some(block);
                work.push_back(next);
            }
        }
    }
    None
}

/// Edges to a block that is still open in a depth-first search from the entry.
fn back_edges(graph: &[Vec<usize>]) -> BTreeSet<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; graph.len()];
    let mut back = BTreeSet::new();
    let mut stack: Vec<(usize, usize)> = Vec::new();
    if let Some(entry) = state.first_mut() {
        *entry = State::Open;
        stack.push((0, 0));
    }
    while let Some((block, next)) = stack.last_mut() {
        let Some(&to) = graph.get(*block).and_then(|list| list.get(*next)) else {
            state[*block] = State::Done;
            stack.pop();
            continue;
        };
        *next += 1;
        let from = *block;
        match state.get(to) {
            Some(State::New) => {
                state[to] = State::Open;
                stack.push((to, 0));
            }
            Some(State::Open) => {
                back.insert((from, to));
            }
            _ => {}
        }
    }
    back
}

/// Where one gets to on leaving the loop of a back edge.
fn loop_exits(
    full: &[Vec<usize>],
    full_back: &[Vec<usize>],
    latch: usize,
    header: usize,
) -> BTreeSet<usize> {
    let mut body = BTreeSet::from([header]);
    let mut work = vec![latch];
    while let Some(block) = work.pop() {
        if body.insert(block) {
            work.extend(full_back.get(block).into_iter().flatten());
        }
    }
    body.iter()
        .flat_map(|block| full.get(*block).into_iter().flatten().copied())
        .filter(|to| !body.contains(to))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_llvm::{Block, Inst, Location};

    /// A function from successor lists; block n has line 10 + n.
    fn function(successors: &[&[usize]]) -> Function {
        let blocks = successors
            .iter()
            .enumerate()
            .map(|(n, successors)| Block {
                address: n as u64,
                name: format!("b{n}"),
                successors: successors.to_vec(),
                insts: vec![Inst {
                    id: None,
                    address: 0,
                    opcode: Opcode(if successors.is_empty() { 1 } else { 2 }),
                    location: Location::Line(10 + u32::try_from(n).unwrap()),
                    operands: Vec::new(),
                    is_debug: false,
                    is_assumption: false,
                    fixed_comparison: None,
                }],
            })
            .collect();
        Function {
            name: "f".into(),
            blocks,
        }
    }

    fn through(function: &Function, block: usize, reading: Reading) -> Vec<u32> {
        Graph::new(function).lines_through(block, reading).lines()
    }

    #[test]
    fn a_diamond_s_arms_do_not_see_each_other() {
        let f = function(&[&[1, 2], &[3], &[3], &[]]);
        for reading in Reading::ALL {
            assert_eq!(through(&f, 1, reading), [10, 11, 13]);
            assert_eq!(through(&f, 0, reading), [10, 11, 12, 13]);
        }
    }

    /// 0 → 1 (header) → 2 or 3; 2 or 3 → 4 (latch) → 1; 1 → 5 (exit).
    #[test]
    fn the_readings_differ_in_loops() {
        let f = function(&[&[1], &[2, 3, 5], &[4], &[4], &[1], &[]]);
        // Simple paths through 2 do not see 3, and end in the latch.
        assert_eq!(through(&f, 2, Reading::D), [10, 11, 12, 14]);
        // Round once, then leave: the exit too.
        assert_eq!(through(&f, 2, Reading::X), [10, 11, 12, 14, 15]);
        // Any number of rounds: everything.
        assert_eq!(through(&f, 2, Reading::R), [10, 11, 12, 13, 14, 15]);
    }

    /// The blind spot of the sets: an if without else, whose skip edge has no line of its own.
    #[test]
    fn a_skipped_block_is_avoided() {
        let f = function(&[&[1, 2], &[2], &[]]);
        let mut graph = Graph::new(&f);
        let (above, inside) = (
            graph.lines_through(0, Reading::D).clone(),
            graph.lines_through(1, Reading::D).clone(),
        );
        assert!(above.is_subset(&inside));
        assert_eq!(avoids(&f, 0, &BTreeSet::from([1])), Avoid::Yes);
        assert_eq!(avoiding_path(&f, 0, &BTreeSet::from([1])), [0, 2]);
        assert_eq!(avoids(&f, 0, &BTreeSet::from([2])), Avoid::No);
        assert_eq!(avoids(&f, 1, &BTreeSet::from([1])), Avoid::No);
    }

    /// 0 decides, 1 is guarded; 2 decides the same again, 3 is guarded. No path through 3 avoids 1.
    #[test]
    fn the_same_guard_twice_goes_the_same_way() {
        let mut f = function(&[&[1, 2], &[2], &[3, 4], &[4], &[]]);
        assert_eq!(avoids(&f, 3, &BTreeSet::from([1])), Avoid::Yes);
        for block in [0, 2] {
            f.blocks[block].insts[0].operands = vec![99];
        }
        assert_eq!(avoids(&f, 3, &BTreeSet::from([1])), Avoid::No);
        assert_eq!(avoids(&f, 0, &BTreeSet::from([1])), Avoid::Yes);
        assert_eq!(avoiding_path(&f, 0, &BTreeSet::from([1])), [0, 2, 4]);
        // Two comparisons that are alike, as instructions 7 and 8.
        for (block, address) in [(0, 7), (2, 8)] {
            f.blocks[block].insts[0].operands = vec![address];
            let mut comparison = f.blocks[block].insts[0].clone();
            comparison.address = address;
            comparison.fixed_comparison = Some(5);
            f.blocks[block].insts.insert(0, comparison);
        }
        assert_eq!(avoids(&f, 3, &BTreeSet::from([1])), Avoid::No);
        f.blocks[2].insts[0].fixed_comparison = Some(6);
        assert_eq!(avoids(&f, 3, &BTreeSet::from([1])), Avoid::Yes);
    }

    #[test]
    fn traps_are_told_from_exits() {
        let mut f = function(&[&[1, 2], &[], &[]]);
        f.blocks[2].insts[0].opcode = Opcode::UNREACHABLE;
        assert_eq!(avoids(&f, 0, &BTreeSet::from([1])), Avoid::OnlyTraps);
    }

    #[test]
    fn paths_are_shown() {
        let f = function(&[&[1, 2], &[3], &[3], &[]]);
        let graph = Graph::new(&f);
        assert_eq!(graph.path_through(3, 2, Reading::D), [0, 2, 3]);
        assert!(graph.path_through(1, 2, Reading::D).is_empty());
        assert_eq!(graph.blocks_with(12), [2]);
    }
}

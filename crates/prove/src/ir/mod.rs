//! The source program: LLVM IR of one function, with the source variables of its values.
//!
//! *Why LLVM IR:* clang -O0 with promoted registers is the C program, with every implicit conversion written out, and
//! with the undefined behaviour of C still marked on its operations (`nsw`, `inbounds`, `noalias`).
//!
//! Files: `text` (reading the textual form), `types` (sizes and layouts), `exec` (what instructions do).

mod exec;
mod text;
mod types;

pub use exec::{Env, Flow, SourceMemory, Val};
pub use text::{Module, parse};

use std::collections::{BTreeMap, BTreeSet};

/// An SSA value.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct ValueId(pub u32);

/// A basic block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct BlockId(pub u32);

/// What an instruction works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An SSA value.
    Value(ValueId),
    /// A number.
    Number(u64),
    /// The address of a global, and an offset.
    Global(String, i64),
}

/// Operations of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Signed quotient.
    Sdiv,
    /// Unsigned quotient.
    Udiv,
    /// Signed remainder.
    Srem,
    /// Unsigned remainder.
    Urem,
    /// Left shift.
    Shl,
    /// Logical right shift.
    Lshr,
    /// Arithmetic right shift.
    Ashr,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Signed less.
    Slt,
    /// Signed less or equal.
    Sle,
    /// Signed greater.
    Sgt,
    /// Signed greater or equal.
    Sge,
    /// Unsigned less.
    Ult,
    /// Unsigned less or equal.
    Ule,
    /// Unsigned greater.
    Ugt,
    /// Unsigned greater or equal.
    Uge,
}

/// Changes of width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// Sign extension.
    Sext,
    /// Zero extension.
    Zext,
    /// Truncation.
    Trunc,
    /// Same bits.
    Same,
}

/// An instruction's effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inst {
    /// Arithmetic; `no_wrap`: signed wrapping is undefined.
    Binary {
        /// The operation.
        op: Binary,
        /// Signed wrapping is undefined.
        no_wrap: bool,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
        /// Bits.
        width: u8,
    },
    /// Comparison.
    Compare {
        /// How.
        predicate: Predicate,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
        /// Bits of the operands.
        width: u8,
    },
    /// Change of width.
    Cast {
        /// How.
        cast: Cast,
        /// Operand.
        a: Operand,
        /// Bits before.
        from: u8,
        /// Bits after.
        to: u8,
    },
    /// Address arithmetic: base + offset + sum of index × scale.
    Address {
        /// Base.
        base: Operand,
        /// Constant part.
        offset: i64,
        /// Indices with their widths and scales.
        indices: Vec<(Operand, u8, u64)>,
    },
    /// Load.
    Load {
        /// Address.
        address: Operand,
        /// Bytes.
        bytes: u8,
    },
    /// Store.
    Store {
        /// Address.
        address: Operand,
        /// Bytes.
        bytes: u8,
        /// What is stored.
        value: Operand,
    },
    /// Choice.
    Select {
        /// Condition.
        condition: Operand,
        /// If it holds.
        a: Operand,
        /// If not.
        b: Operand,
        /// Bits.
        width: u8,
    },
    /// A call of a function that is not looked into.
    Call {
        /// Its name.
        callee: String,
        /// Arguments with widths.
        arguments: Vec<(Operand, u8)>,
        /// Bits of the result.
        result: Option<u8>,
    },
    /// Signed or unsigned maximum or minimum (an intrinsic), or absolute value.
    Intrinsic {
        /// Which.
        name: Intrinsic,
        /// Operands.
        arguments: Vec<Operand>,
        /// Bits.
        width: u8,
    },
}

/// Functions of LLVM's own that have a meaning here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intrinsic {
    /// Signed maximum.
    Smax,
    /// Signed minimum.
    Smin,
    /// Unsigned maximum.
    Umax,
    /// Unsigned minimum.
    Umin,
    /// Absolute value.
    Abs,
}

/// An instruction with its result and source line.
#[derive(Clone, Debug)]
pub struct Step {
    /// Result.
    pub to: Option<ValueId>,
    /// Effect.
    pub inst: Inst,
    /// Line in the source, 0 if unknown.
    pub line: u32,
}

/// A phi.
#[derive(Clone, Debug)]
pub struct Phi {
    /// Result.
    pub to: ValueId,
    /// Value by predecessor.
    pub from: BTreeMap<BlockId, Operand>,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub enum Terminator {
    /// Jump.
    Jump(BlockId),
    /// Conditional jump.
    Branch(Operand, BlockId, BlockId),
    /// Choice by value: (value, target), else.
    Switch(Operand, u8, Vec<(u64, BlockId)>, BlockId),
    /// Return.
    Return(Option<(Operand, u8)>),
    /// Undefined behaviour: never reached.
    Unreachable,
}

/// A source variable takes the value of an operand here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableIs {
    /// Instructions of the block before this.
    pub after: usize,
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub declared: u32,
    /// Its value.
    pub value: Operand,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its label.
    pub label: String,
    /// Phis.
    pub phis: Vec<Phi>,
    /// Instructions.
    pub steps: Vec<Step>,
    /// How it ends.
    pub terminator: Terminator,
    /// Values of source variables.
    pub variables: Vec<VariableIs>,
    /// First source line of the block, 0 if unknown.
    pub line: u32,
}

/// What is known of an SSA value.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// Its name in the IR.
    pub name: String,
    /// Bits; 1 is a truth value.
    pub width: u8,
    /// The source variable it is a value of, if any.
    pub variable: Option<String>,
    /// The global it points into, if it is an address derived from one in bounds.
    pub object: Option<String>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its value.
    pub value: ValueId,
    /// Bits.
    pub width: u8,
    /// A pointer.
    pub pointer: bool,
    /// `restrict`.
    pub no_alias: bool,
    /// How the caller extends it to 32 bits: signed, unsigned, or not.
    pub extension: Option<bool>,
}

/// One function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Bits of the result.
    pub result: Option<u8>,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// Values.
    pub values: Vec<ValueInfo>,
    /// Targets of back edges.
    pub heads: BTreeSet<BlockId>,
    /// Position of each block in reverse post-order.
    pub order: Vec<usize>,
    /// Values that may be used later, at the start of each block (its phis included).
    pub live: Vec<BTreeSet<ValueId>>,
    /// Smallest and largest access in bytes.
    pub access: (u8, u8),
    /// The line of the definition.
    pub line: u32,
}

impl Function {
    /// A block.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    /// A value's data.
    pub fn value(&self, id: ValueId) -> &ValueInfo {
        &self.values[id.0 as usize]
    }

    /// How a person calls a value: its source variable, else its IR name.
    pub fn display(&self, id: ValueId) -> String {
        let info = self.value(id);
        info.variable.clone().unwrap_or_else(|| info.name.clone())
    }

    /// The blocks a block may go to.
    pub fn successors(&self, id: BlockId) -> Vec<BlockId> {
        match &self.block(id).terminator {
            Terminator::Jump(to) => vec![*to],
            Terminator::Branch(_, a, b) => vec![*a, *b],
            Terminator::Switch(_, _, cases, other) => {
                let mut all: Vec<BlockId> = cases.iter().map(|(_, to)| *to).collect();
                all.push(*other);
                all.sort_unstable();
                all.dedup();
                all
            }
            Terminator::Return(_) | Terminator::Unreachable => Vec::new(),
        }
    }

    /// Whether a value is a parameter.
    pub fn is_param(&self, id: ValueId) -> bool {
        self.params.iter().any(|param| param.value == id)
    }

    /// Finds heads, order and liveness.
    fn analyse(&mut self) {
        let count = self.blocks.len();
        let mut state = vec![0u8; count];
        let mut post = Vec::new();
        let mut stack = vec![(BlockId(0), 0)];
        state[0] = 1;
        while let Some((block, next)) = stack.pop() {
            match self.successors(block).get(next) {
                Some(to) => {
                    stack.push((block, next + 1));
                    match state[to.0 as usize] {
                        0 => {
                            state[to.0 as usize] = 1;
                            stack.push((*to, 0));
                        }
                        1 => {
                            self.heads.insert(*to);
                        }
                        _ => {}
                    }
                }
                None => {
                    state[block.0 as usize] = 2;
                    post.push(block);
                }
            }
        }
        self.order = vec![usize::MAX; count];
        for (index, block) in post.iter().rev().enumerate() {
            self.order[block.0 as usize] = index;
        }
        self.find_live();
    }

    fn find_live(&mut self) {
        let count = self.blocks.len();
        let mut used: Vec<BTreeSet<ValueId>> = vec![BTreeSet::new(); count];
        let mut defined: Vec<BTreeSet<ValueId>> = vec![BTreeSet::new(); count];
        for (index, block) in self.blocks.iter().enumerate() {
            for phi in &block.phis {
                defined[index].insert(phi.to);
            }
            for step in &block.steps {
                for operand in step.inst.operands() {
                    if let Operand::Value(id) = operand
                        && !defined[index].contains(id)
                    {
                        used[index].insert(*id);
                    }
                }
                defined[index].extend(step.to);
            }
            let last = match &block.terminator {
                Terminator::Branch(operand, ..) | Terminator::Switch(operand, ..) => Some(operand),
                Terminator::Return(Some((operand, _))) => Some(operand),
                _ => None,
            };
            if let Some(Operand::Value(id)) = last
                && !defined[index].contains(id)
            {
                used[index].insert(*id);
            }
        }
        let mut live = vec![BTreeSet::new(); count];
        loop {
            let mut changed = false;
            for index in (0..count).rev() {
                let mut out: BTreeSet<ValueId> = BTreeSet::new();
                for to in self.successors(BlockId(index as u32)) {
                    let target = &self.blocks[to.0 as usize];
                    let own: BTreeSet<ValueId> = target.phis.iter().map(|phi| phi.to).collect();
                    out.extend(
                        live[to.0 as usize]
                            .iter()
                            .filter(|id: &&ValueId| !own.contains(id)),
                    );
                    for phi in &target.phis {
                        if let Some(Operand::Value(id)) = phi.from.get(&BlockId(index as u32)) {
                            out.insert(*id);
                        }
                    }
                }
                let mut now: BTreeSet<ValueId> = out.difference(&defined[index]).copied().collect();
                now.extend(used[index].iter().copied());
                now.extend(self.blocks[index].phis.iter().map(|phi| phi.to));
                if now != live[index] {
                    live[index] = now;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        self.live = live;
    }
}

impl Inst {
    /// All operands.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Inst::Binary { a, b, .. } | Inst::Compare { a, b, .. } => vec![a, b],
            Inst::Cast { a, .. } => vec![a],
            Inst::Address { base, indices, .. } => {
                let mut all = vec![base];
                all.extend(indices.iter().map(|(operand, ..)| operand));
                all
            }
            Inst::Load { address, .. } => vec![address],
            Inst::Store { address, value, .. } => vec![address, value],
            Inst::Select {
                condition, a, b, ..
            } => vec![condition, a, b],
            Inst::Call { arguments, .. } => arguments.iter().map(|(operand, _)| operand).collect(),
            Inst::Intrinsic { arguments, .. } => arguments.iter().collect(),
        }
    }
}

//! What IR instructions do, over a [`Domain`].

use super::*;
use crate::domain::{Arithmetic, Domain, Side};
use crate::x86::Unsupported;

/// A value during execution: a bit-vector, or a truth value (`i1`).
#[derive(Debug, PartialEq, Eq)]
pub enum Val<D: Domain> {
    /// A bit-vector.
    Int(D::V),
    /// A truth value.
    Bit(D::B),
}

impl<D: Domain> Clone for Val<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Domain> Copy for Val<D> {}

/// Values by [`ValueId`].
pub type Env<D> = Vec<Option<Val<D>>>;

/// Memory and the rest of the world, as the source sees it.
pub trait SourceMemory<D: Domain> {
    /// The address of a global.
    fn global(&mut self, d: &mut D, name: &str) -> Result<D::V, Unsupported>;
    /// Reads; `object` is the global that the address is derived from, in bounds.
    fn load(
        &mut self,
        d: &mut D,
        address: D::V,
        bytes: u8,
        object: Option<&str>,
    ) -> Result<D::V, Unsupported>;
    /// Writes.
    fn store(
        &mut self,
        d: &mut D,
        address: D::V,
        bytes: u8,
        value: D::V,
        object: Option<&str>,
    ) -> Result<(), Unsupported>;
    /// Calls a function that is not looked into.
    fn call(
        &mut self,
        d: &mut D,
        callee: &str,
        arguments: &[(D::V, u8)],
        result: Option<u8>,
    ) -> Result<Option<D::V>, Unsupported>;
}

/// Where a block goes.
#[derive(Debug)]
pub enum Flow<D: Domain> {
    /// To blocks, each under its condition; the conditions exclude each other.
    To(Vec<(D::B, BlockId)>),
    /// Out, with this result.
    Return(Option<D::V>),
    /// Nowhere: reaching this is undefined.
    Never,
}

type Done<T> = Result<T, Unsupported>;

impl Function {
    /// The value of an operand.
    pub fn operand<D: Domain, M: SourceMemory<D>>(
        &self,
        d: &mut D,
        memory: &mut M,
        env: &Env<D>,
        operand: &Operand,
        width: u8,
    ) -> Done<Val<D>> {
        Ok(match operand {
            Operand::Value(id) => match env.get(id.0 as usize) {
                Some(Some(value)) => *value,
                _ => {
                    return Err(Unsupported(format!(
                        "the value {}, which is used before it is computed",
                        self.value(*id).name
                    )));
                }
            },
            Operand::Number(number) if width == 1 => Val::Bit(d.truth(*number != 0)),
            Operand::Number(number) => Val::Int(d.number(*number, width)),
            Operand::Global(name, offset) => {
                let base = memory.global(d, name)?;
                let offset = d.number(*offset as u64, 64);
                Val::Int(d.add(base, offset, 64))
            }
        })
    }

    fn int<D: Domain, M: SourceMemory<D>>(
        &self,
        d: &mut D,
        memory: &mut M,
        env: &Env<D>,
        operand: &Operand,
        width: u8,
    ) -> Done<D::V> {
        match self.operand(d, memory, env, operand, width)? {
            Val::Int(value) => Ok(value),
            Val::Bit(bit) => {
                let (one, zero) = (d.number(1, 1), d.number(0, 1));
                Ok(d.ite(bit, one, zero, 1))
            }
        }
    }

    fn bit<D: Domain, M: SourceMemory<D>>(
        &self,
        d: &mut D,
        memory: &mut M,
        env: &Env<D>,
        operand: &Operand,
    ) -> Done<D::B> {
        match self.operand(d, memory, env, operand, 1)? {
            Val::Bit(bit) => Ok(bit),
            Val::Int(value) => {
                let one = d.number(1, 1);
                Ok(d.eq(value, one, 1))
            }
        }
    }

    fn object_of<'a>(&'a self, operand: &'a Operand) -> Option<&'a str> {
        match operand {
            Operand::Global(name, _) => Some(name),
            Operand::Value(id) => self.value(*id).object.as_deref(),
            Operand::Number(_) => None,
        }
    }

    /// Executes the instructions of a block (its phis are the caller's) and tells where it goes.
    pub fn run_block<D: Domain, M: SourceMemory<D>>(
        &self,
        d: &mut D,
        memory: &mut M,
        env: &mut Env<D>,
        id: BlockId,
    ) -> Done<Flow<D>> {
        let block = self.block(id);
        for step in &block.steps {
            let value = self.run_step(d, memory, env, &step.inst)?;
            if let (Some(to), Some(value)) = (step.to, value) {
                env[to.0 as usize] = Some(value);
            }
        }
        Ok(match &block.terminator {
            Terminator::Jump(to) => Flow::To(vec![(d.truth(true), *to)]),
            Terminator::Branch(condition, a, b) => {
                let condition = self.bit(d, memory, env, condition)?;
                let negated = d.not(condition);
                Flow::To(vec![(condition, *a), (negated, *b)])
            }
            Terminator::Switch(value, width, cases, other) => {
                let value = self.int(d, memory, env, value, *width)?;
                let mut all = Vec::new();
                let mut none = d.truth(true);
                for (number, to) in cases {
                    let number = d.number(*number, *width);
                    let equal = d.eq(value, number, *width);
                    let differs = d.not(equal);
                    none = d.both(none, differs);
                    all.push((equal, *to));
                }
                all.push((none, *other));
                Flow::To(all)
            }
            Terminator::Return(None) => Flow::Return(None),
            Terminator::Return(Some((value, width))) => {
                Flow::Return(Some(self.int(d, memory, env, value, *width)?))
            }
            Terminator::Unreachable => Flow::Never,
        })
    }

    fn run_step<D: Domain, M: SourceMemory<D>>(
        &self,
        d: &mut D,
        memory: &mut M,
        env: &Env<D>,
        inst: &Inst,
    ) -> Done<Option<Val<D>>> {
        Ok(Some(match inst {
            Inst::Binary {
                op, a, b, width: 1, ..
            } => {
                let a = self.bit(d, memory, env, a)?;
                let b = self.bit(d, memory, env, b)?;
                let not_b = d.not(b);
                Val::Bit(match op {
                    Binary::And => d.both(a, b),
                    Binary::Or => d.either(a, b),
                    Binary::Xor => d.choose(a, not_b, b),
                    _ => return Err(Unsupported("arithmetic on truth values".to_owned())),
                })
            }
            Inst::Binary {
                op,
                no_wrap,
                a,
                b,
                width,
            } => {
                let w = *width;
                let a = self.int(d, memory, env, a, w)?;
                let b = self.int(d, memory, env, b, w)?;
                Val::Int(binary(d, *op, *no_wrap, a, b, w))
            }
            Inst::Compare {
                predicate,
                a,
                b,
                width,
            } => {
                let w = *width;
                let a = self.int(d, memory, env, a, w)?;
                let b = self.int(d, memory, env, b, w)?;
                let (holds, negated) = match predicate {
                    Predicate::Eq => (d.eq(a, b, w), false),
                    Predicate::Ne => (d.eq(a, b, w), true),
                    Predicate::Slt => (d.slt(a, b, w), false),
                    Predicate::Sge => (d.slt(a, b, w), true),
                    Predicate::Sgt => (d.slt(b, a, w), false),
                    Predicate::Sle => (d.slt(b, a, w), true),
                    Predicate::Ult => (d.ult(a, b, w), false),
                    Predicate::Uge => (d.ult(a, b, w), true),
                    Predicate::Ugt => (d.ult(b, a, w), false),
                    Predicate::Ule => (d.ult(b, a, w), true),
                };
                Val::Bit(if negated { d.not(holds) } else { holds })
            }
            Inst::Cast { cast, a, from, to } => {
                if *from == 1 {
                    let bit = self.bit(d, memory, env, a)?;
                    let (one, zero) = match cast {
                        Cast::Sext => (d.number(u64::MAX, *to), d.number(0, *to)),
                        Cast::Zext => (d.number(1, *to), d.number(0, *to)),
                        _ => return Ok(Some(Val::Bit(bit))),
                    };
                    return Ok(Some(Val::Int(d.ite(bit, one, zero, *to))));
                }
                let a = self.int(d, memory, env, a, *from)?;
                match cast {
                    Cast::Sext => Val::Int(d.sext(a, *from, *to)),
                    Cast::Zext => Val::Int(d.zext(a, *from, *to)),
                    Cast::Trunc if *to == 1 => {
                        let low = d.extract(a, *from, 0, 1);
                        let one = d.number(1, 1);
                        Val::Bit(d.eq(low, one, 1))
                    }
                    Cast::Trunc => Val::Int(d.extract(a, *from, 0, *to)),
                    Cast::Same => Val::Int(a),
                }
            }
            Inst::Address {
                base,
                offset,
                indices,
            } => {
                let base = self.int(d, memory, env, base, 64)?;
                let offset = d.number(*offset as u64, 64);
                let mut sum = d.add(base, offset, 64);
                for (index, width, scale) in indices {
                    let mut index = self.int(d, memory, env, index, *width)?;
                    if *width < 64 {
                        index = d.sext(index, *width, 64);
                    }
                    let scale = d.number(*scale, 64);
                    let product = d.mul(index, scale, 64);
                    sum = d.add(sum, product, 64);
                }
                Val::Int(sum)
            }
            Inst::Load { address, bytes } => {
                let object = self.object_of(address);
                let address = self.int(d, memory, env, address, 64)?;
                Val::Int(memory.load(d, address, *bytes, object)?)
            }
            Inst::Store {
                address,
                bytes,
                value,
            } => {
                let object = self.object_of(address);
                let address = self.int(d, memory, env, address, 64)?;
                let value = self.int(d, memory, env, value, bytes * 8)?;
                memory.store(d, address, *bytes, value, object)?;
                return Ok(None);
            }
            Inst::Select {
                condition,
                a,
                b,
                width,
            } => {
                let condition = self.bit(d, memory, env, condition)?;
                if *width == 1 {
                    let a = self.bit(d, memory, env, a)?;
                    let b = self.bit(d, memory, env, b)?;
                    Val::Bit(d.choose(condition, a, b))
                } else {
                    let a = self.int(d, memory, env, a, *width)?;
                    let b = self.int(d, memory, env, b, *width)?;
                    Val::Int(d.ite(condition, a, b, *width))
                }
            }
            Inst::Call {
                callee,
                arguments,
                result,
            } => {
                let mut values = Vec::new();
                for (operand, width) in arguments {
                    values.push((self.int(d, memory, env, operand, *width)?, *width));
                }
                return Ok(memory.call(d, callee, &values, *result)?.map(Val::Int));
            }
            Inst::Intrinsic {
                name,
                arguments,
                width,
            } => {
                let w = *width;
                let mut values = Vec::new();
                for operand in arguments {
                    values.push(self.int(d, memory, env, operand, w)?);
                }
                let a = values[0];
                let b = values.get(1).copied().unwrap_or(a);
                Val::Int(match name {
                    Intrinsic::Smax => {
                        let less = d.slt(a, b, w);
                        d.ite(less, b, a, w)
                    }
                    Intrinsic::Smin => {
                        let less = d.slt(a, b, w);
                        d.ite(less, a, b, w)
                    }
                    Intrinsic::Umax => {
                        let less = d.ult(a, b, w);
                        d.ite(less, b, a, w)
                    }
                    Intrinsic::Umin => {
                        let less = d.ult(a, b, w);
                        d.ite(less, a, b, w)
                    }
                    Intrinsic::Abs => {
                        let zero = d.number(0, w);
                        let negative = d.slt(a, zero, w);
                        let negated = d.sub(zero, a, w);
                        d.ite(negative, negated, a, w)
                    }
                })
            }
        }))
    }
}

fn binary<D: Domain>(d: &mut D, op: Binary, no_wrap: bool, a: D::V, b: D::V, w: u8) -> D::V {
    // shifting by the width or more is undefined: the amount may be masked as the machine masks it
    let amount = |d: &mut D| {
        let width = d.number(u64::from(w), w);
        let legal = d.ult(b, width, w);
        d.require(Side::Source, legal);
        let limit = d.number(u64::from(w) - 1, w);
        d.and(b, limit, w)
    };
    let divisor = |d: &mut D, signed: bool| {
        let zero = d.number(0, w);
        let is_zero = d.eq(b, zero, w);
        let legal = d.not(is_zero);
        d.require(Side::Source, legal);
        if signed {
            let least = d.number(1 << (w - 1), w);
            let minus_one = d.number(u64::MAX, w);
            let is_least = d.eq(a, least, w);
            let is_minus_one = d.eq(b, minus_one, w);
            let over = d.both(is_least, is_minus_one);
            let legal = d.not(over);
            d.require(Side::Source, legal);
        }
    };
    let result = match op {
        Binary::Add => d.add(a, b, w),
        Binary::Sub => d.sub(a, b, w),
        Binary::Mul => d.mul(a, b, w),
        Binary::And => d.and(a, b, w),
        Binary::Or => d.or(a, b, w),
        Binary::Xor => d.xor(a, b, w),
        Binary::Shl => {
            let by = amount(d);
            d.shl(a, by, w)
        }
        Binary::Lshr => {
            let by = amount(d);
            d.lshr(a, by, w)
        }
        Binary::Ashr => {
            let by = amount(d);
            d.ashr(a, by, w)
        }
        Binary::Udiv => {
            divisor(d, false);
            d.udiv(a, b, w)
        }
        Binary::Urem => {
            divisor(d, false);
            d.urem(a, b, w)
        }
        Binary::Sdiv => {
            divisor(d, true);
            d.sdiv(a, b, w)
        }
        Binary::Srem => {
            divisor(d, true);
            d.srem(a, b, w)
        }
    };
    if no_wrap {
        let arithmetic = match op {
            Binary::Add => Some(Arithmetic::Add),
            Binary::Sub => Some(Arithmetic::Sub),
            Binary::Mul => Some(Arithmetic::Mul),
            _ => None,
        };
        if let Some(arithmetic) = arithmetic {
            d.no_wrap(arithmetic, a, b, result, w);
        }
    }
    result
}

//! General registers: moves, arithmetic, conditions, control.

use iced_x86::{ConditionCode, Mnemonic, OpKind, Register};

use super::*;
use crate::domain::Side;

impl<D: Domain, M: Memory<D>> Cpu<'_, D, M> {
    /// Executes a scalar instruction; `None` if it is none.
    pub(super) fn scalar(&mut self, op: &Op) -> Result<Option<Next<D::B>>> {
        use Mnemonic as N;
        let raw = &op.raw;
        let w = if raw.op_count() > 0 {
            self.bits(op, 0)
        } else {
            0
        };
        let mnemonic = raw.mnemonic();
        if raw.has_lock_prefix() || raw.has_rep_prefix() || raw.has_repne_prefix() {
            return match mnemonic {
                N::Ret => Ok(Some(Next::Return)),
                _ => unsupported(op),
            };
        }
        match mnemonic {
            N::Nop | N::Endbr64 => {}
            N::Mov
                if raw.op1_kind() == OpKind::Register
                    && raw.op1_register().is_segment_register() =>
            {
                return unsupported(op);
            }
            N::Mov => {
                let value = self.read(op, 1, w)?;
                self.write(op, 0, value)?;
            }
            N::Lea => {
                let address = self.address(op)?;
                let value = self.d.extract(address, 64, 0, w);
                self.write(op, 0, value)?;
            }
            N::Add | N::Sub | N::Cmp => {
                let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
                if mnemonic == N::Add {
                    let sum = self.d.add(a, b, w);
                    self.state.flags = Flags::Add(a, b, w, Carry::Own);
                    self.write(op, 0, sum)?;
                } else {
                    self.state.flags = Flags::Sub(a, b, w, Carry::Own);
                    if mnemonic == N::Sub {
                        let difference = self.d.sub(a, b, w);
                        self.write(op, 0, difference)?;
                    }
                }
            }
            N::Inc | N::Dec => {
                let a = self.read(op, 0, w)?;
                let one = self.d.number(1, w);
                let kept = Carry::Kept(self.state.flags.carry(self.d));
                let result = if mnemonic == N::Inc {
                    self.state.flags = Flags::Add(a, one, w, kept);
                    self.d.add(a, one, w)
                } else {
                    self.state.flags = Flags::Sub(a, one, w, kept);
                    self.d.sub(a, one, w)
                };
                self.write(op, 0, result)?;
            }
            N::Adc | N::Sbb => {
                let Some(carry) = self.state.flags.carry(self.d) else {
                    return unsupported(op);
                };
                let (one, zero) = (self.d.number(1, w), self.d.number(0, w));
                let carry = self.d.ite(carry, one, zero, w);
                let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
                let result = if mnemonic == N::Adc {
                    let sum = self.d.add(a, b, w);
                    self.d.add(sum, carry, w)
                } else {
                    let difference = self.d.sub(a, b, w);
                    self.d.sub(difference, carry, w)
                };
                self.state.flags = Flags::Result(result, w);
                self.write(op, 0, result)?;
            }
            N::Neg => {
                let a = self.read(op, 0, w)?;
                let zero = self.d.number(0, w);
                self.state.flags = Flags::Sub(zero, a, w, Carry::Own);
                let result = self.d.sub(zero, a, w);
                self.write(op, 0, result)?;
            }
            N::Not => {
                let a = self.read(op, 0, w)?;
                let ones = self.d.number(u64::MAX, w);
                let result = self.d.xor(a, ones, w);
                self.write(op, 0, result)?;
            }
            N::And | N::Or | N::Xor | N::Test => {
                let same = raw.op0_kind() == OpKind::Register
                    && raw.op1_kind() == OpKind::Register
                    && raw.op0_register() == raw.op1_register();
                let result = if same && mnemonic == N::Xor {
                    self.d.number(0, w)
                } else {
                    let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
                    match mnemonic {
                        N::Or => self.d.or(a, b, w),
                        N::Xor => self.d.xor(a, b, w),
                        _ => self.d.and(a, b, w),
                    }
                };
                self.state.flags = Flags::Logic(result, w);
                if mnemonic != N::Test {
                    self.write(op, 0, result)?;
                }
            }
            N::Shl | N::Sal | N::Shr | N::Sar => self.shift(op, w)?,
            N::Rol | N::Ror => self.rotate(op, w)?,
            N::Shld | N::Shrd => self.double_shift(op, w)?,
            N::Imul => self.imul(op, w)?,
            N::Mul => self.wide_multiply(op, w, false)?,
            N::Div | N::Idiv => self.divide(op, w)?,
            N::Cdqe => self.extend_accumulator(Register::EAX, Register::RAX)?,
            N::Cwde => self.extend_accumulator(Register::AX, Register::EAX)?,
            N::Cbw => self.extend_accumulator(Register::AL, Register::AX)?,
            N::Cdq => self.sign_accumulator(Register::EAX, Register::EDX)?,
            N::Cqo => self.sign_accumulator(Register::RAX, Register::RDX)?,
            N::Movsx | N::Movsxd => {
                let from = self.bits(op, 1);
                let value = self.read(op, 1, from)?;
                let value = self.d.sext(value, from, w);
                self.write(op, 0, value)?;
            }
            N::Movzx => {
                let from = self.bits(op, 1);
                let value = self.read(op, 1, from)?;
                let value = self.d.zext(value, from, w);
                self.write(op, 0, value)?;
            }
            N::Xchg if !Self::is_memory(op, 0) && !Self::is_memory(op, 1) => {
                let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
                self.write(op, 0, b)?;
                self.write(op, 1, a)?;
            }
            N::Push
                if w == 64
                    || matches!(
                        raw.op0_kind(),
                        OpKind::Immediate8to64 | OpKind::Immediate32to64
                    ) =>
            {
                let value = self.read(op, 0, 64)?;
                let eight = self.d.number(8, 64);
                let top = self.d.sub(self.state.regs[RSP], eight, 64);
                self.state.regs[RSP] = top;
                self.memory.store(self.d, top, 8, value)?;
            }
            N::Pop if w == 64 => {
                let top = self.state.regs[RSP];
                let value = self.memory.load(self.d, top, 8)?;
                let eight = self.d.number(8, 64);
                self.state.regs[RSP] = self.d.add(top, eight, 64);
                self.write(op, 0, value)?;
            }
            N::Leave => {
                let top = self.state.regs[5];
                let value = self.memory.load(self.d, top, 8)?;
                let eight = self.d.number(8, 64);
                self.state.regs[RSP] = self.d.add(top, eight, 64);
                self.state.regs[5] = value;
            }
            N::Bswap => {
                let value = self.read(op, 0, w)?;
                let bytes = w / 8;
                let mut all = self.d.extract(value, w, w - 8, 8);
                for byte in 1..bytes {
                    let next = self.d.extract(value, w, w - 8 * (byte + 1), 8);
                    all = self.d.concat((all, 8 * byte), (next, 8));
                }
                self.write(op, 0, all)?;
            }
            N::Bt if !Self::is_memory(op, 0) => {
                let a = self.read(op, 0, w)?;
                let by = self.read(op, 1, w)?;
                let limit = self.d.number(u64::from(w) - 1, w);
                let by = self.d.and(by, limit, w);
                let bit = self.d.lshr(a, by, w);
                let bit = self.d.extract(bit, w, 0, 1);
                let one = self.d.number(1, 1);
                let set = self.d.eq(bit, one, 1);
                self.state.flags = Flags::Carry(set);
            }
            N::Popcnt => {
                let a = self.read(op, 1, w)?;
                let mut count = self.d.number(0, w);
                for bit in 0..w {
                    let one = self.d.extract(a, w, bit, 1);
                    let one = self.d.zext(one, 1, w);
                    count = self.d.add(count, one, w);
                }
                let zero = self.d.number(0, w);
                let none = self.d.eq(a, zero, w);
                self.state.flags = Flags::Zero(none);
                self.write(op, 0, count)?;
            }
            N::Ret => return Ok(Some(Next::Return)),
            N::Jmp if raw.is_jmp_short_or_near() => {
                return Ok(Some(Next::Jump(raw.near_branch_target())));
            }
            N::Call if raw.is_call_near() => return Ok(Some(Next::Call)),
            _ if raw.is_jcc_short_or_near() => {
                let condition = self.condition(op)?;
                return Ok(Some(Next::Branch(condition, raw.near_branch_target())));
            }
            _ if raw.condition_code() != ConditionCode::None && raw.op_count() == 2 => {
                // cmovcc: the source is read in any case, and 32 bits clear the upper half in any case
                let condition = self.condition(op)?;
                let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
                let value = self.d.ite(condition, b, a, w);
                self.write(op, 0, value)?;
            }
            _ if raw.condition_code() != ConditionCode::None && raw.op_count() == 1 && w == 8 => {
                let condition = self.condition(op)?;
                let (one, zero) = (self.d.number(1, 8), self.d.number(0, 8));
                let value = self.d.ite(condition, one, zero, 8);
                self.write(op, 0, value)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Next::Fall))
    }

    fn condition(&mut self, op: &Op) -> Result<D::B> {
        let flags = self.state.flags;
        match flags.condition(self.d, op.raw.condition_code()) {
            Some(condition) => Ok(condition),
            None => Err(Unsupported(format!(
                "`{}`, whose flag the instructions before it leave undefined",
                crate::image::listing(&op.raw)
            ))),
        }
    }

    /// The amount of a shift, masked as the processor does; `None` if it is in cl.
    fn amount(&mut self, op: &Op, index: u32, w: u8) -> Option<u64> {
        let mask = if w == 64 { 63 } else { 31 };
        if op.raw.op_count() <= index {
            return Some(1);
        }
        op.raw.try_immediate(index).ok().map(|by| by & mask)
    }

    fn shift(&mut self, op: &Op, w: u8) -> Result<()> {
        let a = self.read(op, 0, w)?;
        let by = match self.amount(op, 1, w) {
            Some(0) => {
                // flags stay; a 32-bit register is still written
                return self.write(op, 0, a);
            }
            Some(by) => self.d.number(by, w),
            None => {
                let limit = self.d.number(if w == 64 { 63 } else { 31 }, 8);
                let count = self.read(op, 1, 8)?;
                let count = self.d.and(count, limit, 8);
                if w == 8 {
                    count
                } else {
                    self.d.zext(count, 8, w)
                }
            }
        };
        let result = match op.raw.mnemonic() {
            Mnemonic::Shr => self.d.lshr(a, by, w),
            Mnemonic::Sar => self.d.ashr(a, by, w),
            _ => self.d.shl(a, by, w),
        };
        match self.d.known(by) {
            Some(0) => {} // they stay
            Some(_) => self.state.flags = Flags::Result(result, w),
            None => self.state.flags = Flags::Unknown,
        }
        self.write(op, 0, result)
    }

    fn rotate(&mut self, op: &Op, w: u8) -> Result<()> {
        let a = self.read(op, 0, w)?;
        let Some(by) = self.amount(op, 1, w) else {
            return unsupported(op);
        };
        let by = (by % u64::from(w)) as u8;
        let left = match op.raw.mnemonic() {
            Mnemonic::Rol => by,
            _ => (w - by) % w,
        };
        let result = if left == 0 {
            a
        } else {
            let high = self.d.extract(a, w, 0, w - left);
            let low = self.d.extract(a, w, w - left, left);
            self.d.concat((low, left), (high, w - left))
        };
        self.state.flags = Flags::Unknown;
        self.write(op, 0, result)
    }

    fn double_shift(&mut self, op: &Op, w: u8) -> Result<()> {
        let Some(by) = self.amount(op, 2, w) else {
            return unsupported(op);
        };
        let by = by as u8;
        if by == 0 || by >= w || w < 32 {
            return unsupported(op);
        }
        let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
        let result = if op.raw.mnemonic() == Mnemonic::Shld {
            let high = self.d.extract(a, w, 0, w - by);
            let low = self.d.extract(b, w, w - by, by);
            self.d.concat((low, by), (high, w - by))
        } else {
            let low = self.d.extract(a, w, by, w - by);
            let high = self.d.extract(b, w, 0, by);
            self.d.concat((low, w - by), (high, by))
        };
        self.state.flags = Flags::Result(result, w);
        self.write(op, 0, result)
    }

    fn imul(&mut self, op: &Op, w: u8) -> Result<()> {
        let product = match op.raw.op_count() {
            1 => return self.wide_multiply(op, w, true),
            2 => {
                let (a, b) = (self.read(op, 0, w)?, self.read(op, 1, w)?);
                self.d.mul(a, b, w)
            }
            _ => {
                let (a, b) = (self.read(op, 1, w)?, self.read(op, 2, w)?);
                self.d.mul(a, b, w)
            }
        };
        self.state.flags = Flags::Unknown;
        self.write(op, 0, product)
    }

    /// edx:eax = eax · operand.
    fn wide_multiply(&mut self, op: &Op, w: u8, signed: bool) -> Result<()> {
        if w != 32 {
            return unsupported(op);
        }
        let a = self.get(Register::EAX)?;
        let b = self.read(op, 0, w)?;
        let (a, b) = if signed {
            (self.d.sext(a, 32, 64), self.d.sext(b, 32, 64))
        } else {
            (self.d.zext(a, 32, 64), self.d.zext(b, 32, 64))
        };
        let product = self.d.mul(a, b, 64);
        let low = self.d.extract(product, 64, 0, 32);
        let high = self.d.extract(product, 64, 32, 32);
        self.set(Register::EAX, low)?;
        self.set(Register::EDX, high)?;
        self.state.flags = Flags::Unknown;
        Ok(())
    }

    /// Quotient and remainder of rdx:rax, where rdx only extends rax. Division by zero and overflow trap, so
    /// their absence is required.
    fn divide(&mut self, op: &Op, w: u8) -> Result<()> {
        let (low, high) = match w {
            32 => (Register::EAX, Register::EDX),
            64 => (Register::RAX, Register::RDX),
            _ => return unsupported(op),
        };
        let signed = op.raw.mnemonic() == Mnemonic::Idiv;
        let a = self.get(low)?;
        let upper = self.get(high)?;
        let b = self.read(op, 0, w)?;
        let zero = self.d.number(0, w);
        let extension = if signed {
            let by = self.d.number(u64::from(w) - 1, w);
            self.d.ashr(a, by, w)
        } else {
            zero
        };
        if upper != extension {
            return Err(Unsupported(format!(
                "`{}` of a dividend wider than its register",
                crate::image::listing(&op.raw)
            )));
        }
        let by_zero = self.d.eq(b, zero, w);
        let defined = self.d.not(by_zero);
        self.d.require(Side::Machine, defined);
        let (quotient, remainder) = if signed {
            let least = self.d.number(1 << (w - 1), w);
            let minus_one = self.d.number(u64::MAX, w);
            let is_least = self.d.eq(a, least, w);
            let is_minus_one = self.d.eq(b, minus_one, w);
            let over = self.d.both(is_least, is_minus_one);
            let defined = self.d.not(over);
            self.d.require(Side::Machine, defined);
            (self.d.sdiv(a, b, w), self.d.srem(a, b, w))
        } else {
            (self.d.udiv(a, b, w), self.d.urem(a, b, w))
        };
        self.set(low, quotient)?;
        self.set(high, remainder)?;
        self.state.flags = Flags::Unknown;
        Ok(())
    }

    fn extend_accumulator(&mut self, from: Register, to: Register) -> Result<()> {
        let value = self.get(from)?;
        let (f, t) = (from.size() as u8 * 8, to.size() as u8 * 8);
        let value = self.d.sext(value, f, t);
        self.set(to, value)
    }

    fn sign_accumulator(&mut self, from: Register, to: Register) -> Result<()> {
        let value = self.get(from)?;
        let w = from.size() as u8 * 8;
        let by = self.d.number(u64::from(w) - 1, w);
        let sign = self.d.ashr(value, by, w);
        self.set(to, sign)
    }
}

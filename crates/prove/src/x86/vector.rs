//! Vector registers: arithmetic, comparison, shifts, conversion, loads and stores. Integer elements only.

use iced_x86::{EncodingKind, Mnemonic};

use super::*;

/// Lanes of a register or operand; only the first `usize` of them count.
pub(super) type Lanes<V> = ([V; LANES], usize);

/// What is done to two elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Each {
    Add,
    Sub,
    Mul,
    MulHigh(bool),
    And,
    AndNot,
    Or,
    Xor,
    Equal,
    Greater,
    Max(bool),
    Min(bool),
    AddSaturated(bool),
    SubSaturated(bool),
}

/// What is done to one element by an amount.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shift {
    Left,
    Logical,
    Arithmetic,
}

fn each(mnemonic: Mnemonic) -> Option<(Each, u8)> {
    use Mnemonic as N;
    Some(match mnemonic {
        N::Paddb | N::Vpaddb => (Each::Add, 8),
        N::Paddw | N::Vpaddw => (Each::Add, 16),
        N::Paddd | N::Vpaddd => (Each::Add, 32),
        N::Paddq | N::Vpaddq => (Each::Add, 64),
        N::Psubb | N::Vpsubb => (Each::Sub, 8),
        N::Psubw | N::Vpsubw => (Each::Sub, 16),
        N::Psubd | N::Vpsubd => (Each::Sub, 32),
        N::Psubq | N::Vpsubq => (Each::Sub, 64),
        N::Paddusb | N::Vpaddusb => (Each::AddSaturated(false), 8),
        N::Paddusw | N::Vpaddusw => (Each::AddSaturated(false), 16),
        N::Paddsb | N::Vpaddsb => (Each::AddSaturated(true), 8),
        N::Paddsw | N::Vpaddsw => (Each::AddSaturated(true), 16),
        N::Psubusb | N::Vpsubusb => (Each::SubSaturated(false), 8),
        N::Psubusw | N::Vpsubusw => (Each::SubSaturated(false), 16),
        N::Psubsb | N::Vpsubsb => (Each::SubSaturated(true), 8),
        N::Psubsw | N::Vpsubsw => (Each::SubSaturated(true), 16),
        N::Pmullw | N::Vpmullw => (Each::Mul, 16),
        N::Pmulld | N::Vpmulld => (Each::Mul, 32),
        N::Pmulhw | N::Vpmulhw => (Each::MulHigh(true), 16),
        N::Pmulhuw | N::Vpmulhuw => (Each::MulHigh(false), 16),
        N::Pand | N::Vpand | N::Andps | N::Vandps | N::Andpd | N::Vandpd => (Each::And, 32),
        N::Pandn | N::Vpandn | N::Andnps | N::Vandnps | N::Andnpd | N::Vandnpd => {
            (Each::AndNot, 32)
        }
        N::Por | N::Vpor | N::Orps | N::Vorps | N::Orpd | N::Vorpd => (Each::Or, 32),
        N::Pxor | N::Vpxor | N::Xorps | N::Vxorps | N::Xorpd | N::Vxorpd => (Each::Xor, 32),
        N::Pcmpeqb | N::Vpcmpeqb => (Each::Equal, 8),
        N::Pcmpeqw | N::Vpcmpeqw => (Each::Equal, 16),
        N::Pcmpeqd | N::Vpcmpeqd => (Each::Equal, 32),
        N::Pcmpeqq | N::Vpcmpeqq => (Each::Equal, 64),
        N::Pcmpgtb | N::Vpcmpgtb => (Each::Greater, 8),
        N::Pcmpgtw | N::Vpcmpgtw => (Each::Greater, 16),
        N::Pcmpgtd | N::Vpcmpgtd => (Each::Greater, 32),
        N::Pcmpgtq | N::Vpcmpgtq => (Each::Greater, 64),
        N::Pmaxsb | N::Vpmaxsb => (Each::Max(true), 8),
        N::Pmaxsw | N::Vpmaxsw => (Each::Max(true), 16),
        N::Pmaxsd | N::Vpmaxsd => (Each::Max(true), 32),
        N::Pmaxub | N::Vpmaxub => (Each::Max(false), 8),
        N::Pmaxuw | N::Vpmaxuw => (Each::Max(false), 16),
        N::Pmaxud | N::Vpmaxud => (Each::Max(false), 32),
        N::Pminsb | N::Vpminsb => (Each::Min(true), 8),
        N::Pminsw | N::Vpminsw => (Each::Min(true), 16),
        N::Pminsd | N::Vpminsd => (Each::Min(true), 32),
        N::Pminub | N::Vpminub => (Each::Min(false), 8),
        N::Pminuw | N::Vpminuw => (Each::Min(false), 16),
        N::Pminud | N::Vpminud => (Each::Min(false), 32),
        _ => return None,
    })
}

/// (what, bits of the elements, each element has its own amount)
fn shift(mnemonic: Mnemonic) -> Option<(Shift, u8, bool)> {
    use Mnemonic as N;
    Some(match mnemonic {
        N::Psllw | N::Vpsllw => (Shift::Left, 16, false),
        N::Pslld | N::Vpslld => (Shift::Left, 32, false),
        N::Psllq | N::Vpsllq => (Shift::Left, 64, false),
        N::Psrlw | N::Vpsrlw => (Shift::Logical, 16, false),
        N::Psrld | N::Vpsrld => (Shift::Logical, 32, false),
        N::Psrlq | N::Vpsrlq => (Shift::Logical, 64, false),
        N::Psraw | N::Vpsraw => (Shift::Arithmetic, 16, false),
        N::Psrad | N::Vpsrad => (Shift::Arithmetic, 32, false),
        N::Vpsllvd => (Shift::Left, 32, true),
        N::Vpsllvq => (Shift::Left, 64, true),
        N::Vpsrlvd => (Shift::Logical, 32, true),
        N::Vpsrlvq => (Shift::Logical, 64, true),
        N::Vpsravd => (Shift::Arithmetic, 32, true),
        _ => return None,
    })
}

impl<D: Domain, M: Memory<D>> Cpu<'_, D, M> {
    pub(super) fn is_vex(op: &Op) -> bool {
        op.raw.encoding() == EncodingKind::VEX
    }

    /// Index of the first source: VEX instructions name it, the older ones use the destination.
    pub(super) fn first(op: &Op) -> u32 {
        u32::from(Self::is_vex(op))
    }

    /// Loads lanes from memory.
    pub(super) fn load_lanes(&mut self, address: D::V, count: usize) -> Result<Lanes<D::V>> {
        let zero = self.d.number(0, 32);
        let mut lanes = [zero; LANES];
        for (index, lane) in lanes.iter_mut().enumerate().take(count) {
            let offset = self.d.number(4 * index as u64, 64);
            let at = self.d.add(address, offset, 64);
            *lane = self.memory.load(self.d, at, 4)?;
        }
        Ok((lanes, count))
    }

    /// Stores lanes to memory.
    pub(super) fn store_lanes(&mut self, address: D::V, lanes: &[D::V]) -> Result<()> {
        for (index, lane) in lanes.iter().enumerate() {
            let offset = self.d.number(4 * index as u64, 64);
            let at = self.d.add(address, offset, 64);
            self.memory.store(self.d, at, 4, *lane)?;
        }
        Ok(())
    }

    /// The older encodings trap on misaligned 16-byte operands, the newer ones only in moves that say so.
    pub(super) fn require_alignment(&mut self, op: &Op, address: D::V, size: usize) {
        use Mnemonic as N;
        let tolerant = matches!(
            op.raw.mnemonic(),
            N::Movdqu | N::Movups | N::Movupd | N::Lddqu
        );
        let strict = matches!(
            op.raw.mnemonic(),
            N::Vmovdqa | N::Vmovaps | N::Vmovapd | N::Vmovntdq
        );
        let needed = if Self::is_vex(op) {
            strict && size >= 16
        } else {
            size == 16 && !tolerant
        };
        if needed {
            let mask = self.d.number(size as u64 - 1, 64);
            let low = self.d.and(address, mask, 64);
            let zero = self.d.number(0, 64);
            let aligned = self.d.eq(low, zero, 64);
            self.d.require(crate::domain::Side::Machine, aligned);
        }
    }

    /// Reads a vector operand, a register or whole lanes of memory.
    pub(super) fn lanes(&mut self, op: &Op, index: u32) -> Result<Lanes<D::V>> {
        if Self::is_memory(op, index) {
            let size = op.raw.memory_size().size();
            if !(4..=32).contains(&size) || !size.is_multiple_of(4) {
                return unsupported(op);
            }
            let address = self.address(op)?;
            self.require_alignment(op, address, size);
            return self.load_lanes(address, size / 4);
        }
        let register = op.raw.op_register(index);
        match vector_number(register) {
            Some(number) if number < 16 => Ok((self.state.vectors[number], register.size() / 4)),
            _ => unsupported(op),
        }
    }

    /// Writes the first lanes of the destination: VEX clears the rest of the register, older encodings leave it.
    pub(super) fn put(&mut self, op: &Op, lanes: &[D::V]) -> Result<()> {
        let Some(number) = vector_number(op.raw.op0_register()) else {
            return unsupported(op);
        };
        if number >= 16 {
            return unsupported(op);
        }
        let zero = self.d.number(0, 32);
        for index in 0..LANES {
            match lanes.get(index) {
                Some(lane) => self.state.vectors[number][index] = *lane,
                None if Self::is_vex(op) => self.state.vectors[number][index] = zero,
                None => {}
            }
        }
        Ok(())
    }

    /// The elements of `bits` bits of some lanes.
    pub(super) fn elements(&mut self, lanes: &[D::V], bits: u8) -> Vec<D::V> {
        match bits {
            32 => lanes.to_vec(),
            64 => lanes
                .chunks(2)
                .map(|pair| self.d.concat((pair[0], 32), (pair[1], 32)))
                .collect(),
            _ => {
                let per_lane = 32 / bits;
                let mut all = Vec::with_capacity(lanes.len() * per_lane as usize);
                for lane in lanes {
                    for index in 0..per_lane {
                        all.push(self.d.extract(*lane, 32, index * bits, bits));
                    }
                }
                all
            }
        }
    }

    /// Elements as lanes again.
    pub(super) fn packed(&mut self, elements: &[D::V], bits: u8) -> Vec<D::V> {
        match bits {
            32 => elements.to_vec(),
            64 => {
                let mut lanes = Vec::with_capacity(elements.len() * 2);
                for element in elements {
                    lanes.push(self.d.extract(*element, 64, 0, 32));
                    lanes.push(self.d.extract(*element, 64, 32, 32));
                }
                lanes
            }
            _ => {
                let per_lane = 32 / bits as usize;
                let mut lanes = Vec::with_capacity(elements.len() / per_lane);
                for group in elements.chunks(per_lane) {
                    let mut lane = group[0];
                    for (index, element) in group.iter().enumerate().skip(1) {
                        lane = self.d.concat((lane, bits * index as u8), (*element, bits));
                    }
                    lanes.push(lane);
                }
                lanes
            }
        }
    }

    /// Executes vector arithmetic; `false` if the instruction is none.
    pub(super) fn vector(&mut self, op: &Op) -> Result<bool> {
        use Mnemonic as N;
        let raw = &op.raw;
        if matches!(raw.encoding(), EncodingKind::EVEX | EncodingKind::XOP) {
            return unsupported(op);
        }
        let first = Self::first(op);
        if let Some((what, bits)) = each(raw.mnemonic()) {
            if raw.op0_register().is_mm() {
                return unsupported(op);
            }
            let (a, count) = self.lanes(op, first)?;
            let result = if matches!(what, Each::Xor | Each::Sub)
                && !Self::is_memory(op, first + 1)
                && raw.op_register(first) == raw.op_register(first + 1)
            {
                vec![self.d.number(0, 32); count]
            } else {
                let (b, _) = self.lanes(op, first + 1)?;
                let a = self.elements(&a[..count], bits);
                let b = self.elements(&b[..count], bits);
                let all: Vec<D::V> = a
                    .iter()
                    .zip(&b)
                    .map(|(x, y)| self.each(what, *x, *y, bits))
                    .collect();
                self.packed(&all, bits)
            };
            self.put(op, &result)?;
            return Ok(true);
        }
        if let Some((what, bits, own)) = shift(raw.mnemonic()) {
            self.vector_shift(op, what, bits, own)?;
            return Ok(true);
        }
        match raw.mnemonic() {
            N::Pmuludq | N::Vpmuludq | N::Pmuldq | N::Vpmuldq => {
                let signed = matches!(raw.mnemonic(), N::Pmuldq | N::Vpmuldq);
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, first + 1)?;
                let mut products = Vec::new();
                for index in (0..count).step_by(2) {
                    let (x, y) = if signed {
                        (self.d.sext(a[index], 32, 64), self.d.sext(b[index], 32, 64))
                    } else {
                        (self.d.zext(a[index], 32, 64), self.d.zext(b[index], 32, 64))
                    };
                    products.push(self.d.mul(x, y, 64));
                }
                let lanes = self.packed(&products, 64);
                self.put(op, &lanes)?;
            }
            N::Pmaddwd | N::Vpmaddwd => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, first + 1)?;
                let a = self.elements(&a[..count], 16);
                let b = self.elements(&b[..count], 16);
                let mut sums = Vec::new();
                for index in (0..a.len()).step_by(2) {
                    let mut sum = self.d.number(0, 32);
                    for part in index..index + 2 {
                        let x = self.d.sext(a[part], 16, 32);
                        let y = self.d.sext(b[part], 16, 32);
                        let product = self.d.mul(x, y, 32);
                        sum = self.d.add(sum, product, 32);
                    }
                    sums.push(sum);
                }
                self.put(op, &sums)?;
            }
            N::Phaddd | N::Vphaddd => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, first + 1)?;
                let mut sums = Vec::new();
                for half in (0..count).step_by(4) {
                    for source in [&a, &b] {
                        sums.push(self.d.add(source[half], source[half + 1], 32));
                        sums.push(self.d.add(source[half + 2], source[half + 3], 32));
                    }
                }
                self.put(op, &sums)?;
            }
            N::Pabsb | N::Vpabsb | N::Pabsw | N::Vpabsw | N::Pabsd | N::Vpabsd => {
                let bits = match raw.mnemonic() {
                    N::Pabsb | N::Vpabsb => 8,
                    N::Pabsw | N::Vpabsw => 16,
                    _ => 32,
                };
                let (a, count) = self.lanes(op, 1)?;
                let a = self.elements(&a[..count], bits);
                let zero = self.d.number(0, bits);
                let all: Vec<D::V> = a
                    .iter()
                    .map(|x| {
                        let negative = self.d.slt(*x, zero, bits);
                        let negated = self.d.sub(zero, *x, bits);
                        self.d.ite(negative, negated, *x, bits)
                    })
                    .collect();
                let lanes = self.packed(&all, bits);
                self.put(op, &lanes)?;
            }
            N::Psignd | N::Vpsignd => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, first + 1)?;
                let zero = self.d.number(0, 32);
                let mut lanes = Vec::new();
                for index in 0..count {
                    let negative = self.d.slt(b[index], zero, 32);
                    let none = self.d.eq(b[index], zero, 32);
                    let negated = self.d.sub(zero, a[index], 32);
                    let lane = self.d.ite(negative, negated, a[index], 32);
                    lanes.push(self.d.ite(none, zero, lane, 32));
                }
                self.put(op, &lanes)?;
            }
            N::Ptest | N::Vptest => {
                let (a, count) = self.lanes(op, 0)?;
                let (b, _) = self.lanes(op, 1)?;
                let zero = self.d.number(0, 32);
                let ones = self.d.number(u64::MAX, 32);
                let (mut z, mut c) = (self.d.truth(true), self.d.truth(true));
                for index in 0..count {
                    let both = self.d.and(a[index], b[index], 32);
                    let none = self.d.eq(both, zero, 32);
                    z = self.d.both(z, none);
                    let flipped = self.d.xor(a[index], ones, 32);
                    let only = self.d.and(flipped, b[index], 32);
                    let none = self.d.eq(only, zero, 32);
                    c = self.d.both(c, none);
                }
                self.state.flags = Flags::Test(z, c);
            }
            N::Pmovmskb
            | N::Vpmovmskb
            | N::Movmskps
            | N::Vmovmskps
            | N::Movmskpd
            | N::Vmovmskpd => {
                let bits = match raw.mnemonic() {
                    N::Pmovmskb | N::Vpmovmskb => 8,
                    N::Movmskps | N::Vmovmskps => 32,
                    _ => 64,
                };
                let (a, count) = self.lanes(op, 1)?;
                let a = self.elements(&a[..count], bits);
                let zero = self.d.number(0, bits);
                let mut mask = self.d.number(0, 32);
                for (index, element) in a.iter().enumerate() {
                    let negative = self.d.slt(*element, zero, bits);
                    let one = self.d.number(1 << index, 32);
                    let none = self.d.number(0, 32);
                    let bit = self.d.ite(negative, one, none, 32);
                    mask = self.d.or(mask, bit, 32);
                }
                self.set(raw.op0_register().full_register32(), mask)?;
            }
            N::Packssdw | N::Vpackssdw => self.pack(op, 32, true)?,
            N::Packusdw | N::Vpackusdw => self.pack(op, 32, false)?,
            N::Packsswb | N::Vpacksswb => self.pack(op, 16, true)?,
            N::Packuswb | N::Vpackuswb => self.pack(op, 16, false)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn each(&mut self, what: Each, x: D::V, y: D::V, w: u8) -> D::V {
        let d = &mut *self.d;
        let mask = |d: &mut D, condition: D::B| {
            let (ones, zero) = (d.number(u64::MAX, w), d.number(0, w));
            d.ite(condition, ones, zero, w)
        };
        match what {
            Each::Add => d.add(x, y, w),
            Each::Sub => d.sub(x, y, w),
            Each::Mul => d.mul(x, y, w),
            Each::MulHigh(signed) => {
                let (x, y) = if signed {
                    (d.sext(x, w, 2 * w), d.sext(y, w, 2 * w))
                } else {
                    (d.zext(x, w, 2 * w), d.zext(y, w, 2 * w))
                };
                let product = d.mul(x, y, 2 * w);
                d.extract(product, 2 * w, w, w)
            }
            Each::And => d.and(x, y, w),
            Each::AndNot => {
                let ones = d.number(u64::MAX, w);
                let x = d.xor(x, ones, w);
                d.and(x, y, w)
            }
            Each::Or => d.or(x, y, w),
            Each::Xor => d.xor(x, y, w),
            Each::Equal => {
                let equal = d.eq(x, y, w);
                mask(d, equal)
            }
            Each::Greater => {
                let greater = d.slt(y, x, w);
                mask(d, greater)
            }
            Each::Max(signed) | Each::Min(signed) => {
                let less = if signed {
                    d.slt(x, y, w)
                } else {
                    d.ult(x, y, w)
                };
                match what {
                    Each::Max(_) => d.ite(less, y, x, w),
                    _ => d.ite(less, x, y, w),
                }
            }
            Each::AddSaturated(signed) | Each::SubSaturated(signed) => {
                let wide = w + 8;
                let (x, y) = if signed {
                    (d.sext(x, w, wide), d.sext(y, w, wide))
                } else {
                    (d.zext(x, w, wide), d.zext(y, w, wide))
                };
                let exact = match what {
                    Each::AddSaturated(_) => d.add(x, y, wide),
                    _ => d.sub(x, y, wide),
                };
                saturated(d, exact, wide, w, signed)
            }
        }
    }

    fn vector_shift(&mut self, op: &Op, what: Shift, bits: u8, own: bool) -> Result<()> {
        let raw = &op.raw;
        let first = Self::first(op);
        let (a, count) = self.lanes(op, first)?;
        let elements = self.elements(&a[..count], bits);
        let amounts: Vec<D::V> = if own {
            let (b, _) = self.lanes(op, first + 1)?;
            self.elements(&b[..count], bits)
        } else if let Ok(by) = raw.try_immediate(first + 1) {
            vec![self.d.number(by & 0xff, bits); elements.len()]
        } else {
            // the low 64 bits of a register are the amount of all
            let (b, _) = self.lanes(op, first + 1)?;
            let low = self.d.concat((b[0], 32), (b[1], 32));
            let by = match self.d.known(low) {
                Some(by) => self.d.number(by.min(255), bits),
                None if bits == 64 => low,
                None => {
                    // more than 255 acts as 255
                    let most = self.d.number(255, 64);
                    let over = self.d.ult(most, low, 64);
                    let low = self.d.extract(low, 64, 0, bits);
                    let most = self.d.number(255, bits);
                    self.d.ite(over, most, low, bits)
                }
            };
            vec![by; elements.len()]
        };
        let all: Vec<D::V> = elements
            .iter()
            .zip(&amounts)
            .map(|(x, by)| match what {
                Shift::Left => self.d.shl(*x, *by, bits),
                Shift::Logical => self.d.lshr(*x, *by, bits),
                Shift::Arithmetic => self.d.ashr(*x, *by, bits),
            })
            .collect();
        let lanes = self.packed(&all, bits);
        self.put(op, &lanes)
    }

    /// Elements of two operands, halved with saturation, 128 bits at a time.
    fn pack(&mut self, op: &Op, bits: u8, signed: bool) -> Result<()> {
        let first = Self::first(op);
        let (a, count) = self.lanes(op, first)?;
        let (b, _) = self.lanes(op, first + 1)?;
        let mut all = Vec::new();
        for half in (0..count).step_by(4) {
            for source in [&a, &b] {
                let elements = self.elements(&source[half..half + 4], bits);
                for element in elements {
                    all.push(saturated(self.d, element, bits, bits / 2, signed));
                }
            }
        }
        let lanes = self.packed(&all, bits / 2);
        self.put(op, &lanes)
    }
}

/// A signed value of `from` bits, limited to what `to` bits hold (signed or unsigned).
fn saturated<D: Domain>(d: &mut D, value: D::V, from: u8, to: u8, signed: bool) -> D::V {
    let (least, most) = if signed {
        (-(1i64 << (to - 1)), (1i64 << (to - 1)) - 1)
    } else {
        (0, (1i64 << to) - 1)
    };
    let (least, most) = (d.number(least as u64, from), d.number(most as u64, from));
    let below = d.slt(value, least, from);
    let above = d.slt(most, value, from);
    let value = d.ite(below, least, value, from);
    let value = d.ite(above, most, value, from);
    d.extract(value, from, 0, to)
}

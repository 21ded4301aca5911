//! Moves of lanes: loads, stores, shuffles, blends, insertion and extraction, conversion of width.

use iced_x86::Mnemonic;

use super::*;
use crate::domain::Domain;

impl<D: Domain, M: Memory<D>> Cpu<'_, D, M> {
    /// Executes a move of lanes; `false` if the instruction is none.
    pub(super) fn shuffle(&mut self, op: &Op) -> Result<bool> {
        use Mnemonic as N;
        let raw = &op.raw;
        let first = Self::first(op);
        let second = first + 1;
        let zero = self.d.number(0, 32);
        // the immediate is always the last operand
        let control = match raw.op_count() {
            0 => 0,
            count => raw.try_immediate(count - 1).unwrap_or(0) as usize,
        };
        match raw.mnemonic() {
            N::Vzeroupper => {
                for register in &mut self.state.vectors {
                    register[4..].fill(zero);
                }
            }
            N::Movdqa
            | N::Vmovdqa
            | N::Movdqu
            | N::Vmovdqu
            | N::Movaps
            | N::Vmovaps
            | N::Movups
            | N::Vmovups
            | N::Movapd
            | N::Vmovapd
            | N::Movupd
            | N::Vmovupd
            | N::Lddqu
            | N::Vlddqu
            | N::Movntdq
            | N::Vmovntdq => {
                let (lanes, count) = self.lanes(op, 1)?;
                if Self::is_memory(op, 0) {
                    let address = self.address(op)?;
                    self.require_alignment(op, address, 4 * count);
                    self.store_lanes(address, &lanes[..count])?;
                } else {
                    self.put(op, &lanes[..count])?;
                }
            }
            N::Movd | N::Vmovd => self.move_low(op, 1)?,
            N::Movq | N::Vmovq => self.move_low(op, 2)?,
            N::Movss | N::Vmovss => self.move_float(op, 1)?,
            N::Movsd | N::Vmovsd => self.move_float(op, 2)?,
            N::Movlps | N::Vmovlps | N::Movlpd | N::Vmovlpd => self.move_half(op, 0)?,
            N::Movhps | N::Vmovhps | N::Movhpd | N::Vmovhpd => self.move_half(op, 2)?,
            N::Movhlps | N::Vmovhlps => {
                let (a, _) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, second)?;
                self.put(op, &[b[2], b[3], a[2], a[3]])?;
            }
            N::Movlhps | N::Vmovlhps => {
                let (a, _) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, second)?;
                self.put(op, &[a[0], a[1], b[0], b[1]])?;
            }
            N::Pshufd | N::Vpshufd => {
                let (a, count) = self.lanes(op, 1)?;
                let lanes: Vec<_> = (0..count)
                    .map(|i| a[i / 4 * 4 + (control >> (2 * (i % 4)) & 3)])
                    .collect();
                self.put(op, &lanes)?;
            }
            N::Vpermilps if raw.try_immediate(2).is_ok() => {
                let (a, count) = self.lanes(op, 1)?;
                let lanes: Vec<_> = (0..count)
                    .map(|i| a[i / 4 * 4 + (control >> (2 * (i % 4)) & 3)])
                    .collect();
                self.put(op, &lanes)?;
            }
            N::Vpermilpd if raw.try_immediate(2).is_ok() => {
                let (a, count) = self.lanes(op, 1)?;
                let lanes: Vec<_> = (0..count)
                    .map(|i| a[i / 4 * 4 + 2 * (control >> (i / 2) & 1) + i % 2])
                    .collect();
                self.put(op, &lanes)?;
            }
            N::Pshuflw | N::Vpshuflw | N::Pshufhw | N::Vpshufhw => {
                let high = matches!(raw.mnemonic(), N::Pshufhw | N::Vpshufhw);
                let (a, count) = self.lanes(op, 1)?;
                let words = self.elements(&a[..count], 16);
                let moved: Vec<_> = (0..words.len())
                    .map(|i| {
                        let (half, within) = (i / 8 * 8, i % 8);
                        match (high, within >= 4) {
                            (false, false) => words[half + (control >> (2 * within) & 3)],
                            (true, true) => words[half + 4 + (control >> (2 * (within - 4)) & 3)],
                            _ => words[i],
                        }
                    })
                    .collect();
                let lanes = self.packed(&moved, 16);
                self.put(op, &lanes)?;
            }
            N::Shufps | N::Vshufps => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, second)?;
                let lanes: Vec<_> = (0..count)
                    .map(|i| {
                        let source = if i % 4 < 2 { &a } else { &b };
                        source[i / 4 * 4 + (control >> (2 * (i % 4)) & 3)]
                    })
                    .collect();
                self.put(op, &lanes)?;
            }
            N::Shufpd | N::Vshufpd => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, second)?;
                let lanes: Vec<_> = (0..count)
                    .map(|i| {
                        let source = if i % 4 < 2 { &a } else { &b };
                        source[i / 4 * 4 + 2 * (control >> (i / 2) & 1) + i % 2]
                    })
                    .collect();
                self.put(op, &lanes)?;
            }
            N::Punpcklbw | N::Vpunpcklbw => self.interleave(op, 8, false)?,
            N::Punpckhbw | N::Vpunpckhbw => self.interleave(op, 8, true)?,
            N::Punpcklwd | N::Vpunpcklwd => self.interleave(op, 16, false)?,
            N::Punpckhwd | N::Vpunpckhwd => self.interleave(op, 16, true)?,
            N::Punpckldq | N::Vpunpckldq | N::Unpcklps | N::Vunpcklps => {
                self.interleave(op, 32, false)?;
            }
            N::Punpckhdq | N::Vpunpckhdq | N::Unpckhps | N::Vunpckhps => {
                self.interleave(op, 32, true)?;
            }
            N::Punpcklqdq | N::Vpunpcklqdq | N::Unpcklpd | N::Vunpcklpd => {
                self.interleave(op, 64, false)?;
            }
            N::Punpckhqdq | N::Vpunpckhqdq | N::Unpckhpd | N::Vunpckhpd => {
                self.interleave(op, 64, true)?;
            }
            N::Psrldq | N::Vpsrldq | N::Pslldq | N::Vpslldq => {
                let left = matches!(raw.mnemonic(), N::Pslldq | N::Vpslldq);
                let (a, count) = self.lanes(op, first)?;
                let none = [zero; 4];
                let mut lanes = Vec::new();
                for half in (0..count).step_by(4) {
                    let part = &a[half..half + 4];
                    let by = control.min(16);
                    if left {
                        lanes.extend(self.window(&none, part, 16 - by));
                    } else {
                        lanes.extend(self.window(part, &none, by));
                    }
                }
                self.put(op, &lanes)?;
            }
            N::Palignr | N::Vpalignr => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, second)?;
                let none = [zero; 4];
                let mut lanes = Vec::new();
                for half in (0..count).step_by(4) {
                    let (high, low) = (&a[half..half + 4], &b[half..half + 4]);
                    lanes.extend(match control {
                        0..=16 => self.window(low, high, control),
                        _ => self.window(high, &none, (control - 16).min(16)),
                    });
                }
                self.put(op, &lanes)?;
            }
            N::Pshufb | N::Vpshufb => {
                let (a, count) = self.lanes(op, first)?;
                let (b, _) = self.lanes(op, second)?;
                let bytes = self.elements(&a[..count], 8);
                let indices = self.elements(&b[..count], 8);
                let mut all = Vec::new();
                for (i, index) in indices.iter().enumerate() {
                    let Some(index) = self.d.known(*index) else {
                        return unsupported(op);
                    };
                    all.push(match index & 0x80 {
                        0 => bytes[i / 16 * 16 + (index & 15) as usize],
                        _ => self.d.number(0, 8),
                    });
                }
                let lanes = self.packed(&all, 8);
                self.put(op, &lanes)?;
            }
            N::Pextrb | N::Vpextrb => self.extract_element(op, 8, control)?,
            N::Pextrw | N::Vpextrw => self.extract_element(op, 16, control)?,
            N::Pextrd | N::Vpextrd | N::Extractps | N::Vextractps => {
                self.extract_element(op, 32, control)?;
            }
            N::Pextrq | N::Vpextrq => self.extract_element(op, 64, control)?,
            N::Pinsrb | N::Vpinsrb => self.insert_element(op, 8, control)?,
            N::Pinsrw | N::Vpinsrw => self.insert_element(op, 16, control)?,
            N::Pinsrd | N::Vpinsrd => self.insert_element(op, 32, control)?,
            N::Pinsrq | N::Vpinsrq => self.insert_element(op, 64, control)?,
            N::Insertps | N::Vinsertps => {
                let (mut a, _) = self.lanes(op, first)?;
                let lane = if Self::is_memory(op, second) {
                    let address = self.address(op)?;
                    self.memory.load(self.d, address, 4)?
                } else {
                    self.lanes(op, second)?.0[control >> 6 & 3]
                };
                a[control >> 4 & 3] = lane;
                for (index, lane) in a.iter_mut().enumerate().take(4) {
                    if control >> index & 1 == 1 {
                        *lane = zero;
                    }
                }
                self.put(op, &a[..4])?;
            }
            N::Pmovsxbw | N::Vpmovsxbw => self.widen(op, 8, 16, true)?,
            N::Pmovsxbd | N::Vpmovsxbd => self.widen(op, 8, 32, true)?,
            N::Pmovsxbq | N::Vpmovsxbq => self.widen(op, 8, 64, true)?,
            N::Pmovsxwd | N::Vpmovsxwd => self.widen(op, 16, 32, true)?,
            N::Pmovsxwq | N::Vpmovsxwq => self.widen(op, 16, 64, true)?,
            N::Pmovsxdq | N::Vpmovsxdq => self.widen(op, 32, 64, true)?,
            N::Pmovzxbw | N::Vpmovzxbw => self.widen(op, 8, 16, false)?,
            N::Pmovzxbd | N::Vpmovzxbd => self.widen(op, 8, 32, false)?,
            N::Pmovzxbq | N::Vpmovzxbq => self.widen(op, 8, 64, false)?,
            N::Pmovzxwd | N::Vpmovzxwd => self.widen(op, 16, 32, false)?,
            N::Pmovzxwq | N::Vpmovzxwq => self.widen(op, 16, 64, false)?,
            N::Pmovzxdq | N::Vpmovzxdq => self.widen(op, 32, 64, false)?,
            N::Pblendvb | N::Vpblendvb => self.blend_variable(op, 8)?,
            N::Blendvps | N::Vblendvps => self.blend_variable(op, 32)?,
            N::Blendvpd | N::Vblendvpd => self.blend_variable(op, 64)?,
            N::Vpblendd | N::Blendps | N::Vblendps => self.blend(op, 32, control)?,
            N::Blendpd | N::Vblendpd => self.blend(op, 64, control)?,
            N::Pblendw | N::Vpblendw => self.blend(op, 16, control | control << 8)?,
            N::Vpbroadcastb => self.broadcast(op, 8)?,
            N::Vpbroadcastw => self.broadcast(op, 16)?,
            N::Vpbroadcastd | N::Vbroadcastss => self.broadcast(op, 32)?,
            N::Vpbroadcastq | N::Vbroadcastsd => self.broadcast(op, 64)?,
            N::Movddup | N::Vmovddup => {
                let (a, count) = self.lanes(op, 1)?;
                let count = count.max(4);
                let lanes: Vec<_> = (0..count).map(|i| a[i / 4 * 4 + i % 2]).collect();
                self.put(op, &lanes)?;
            }
            N::Movshdup | N::Vmovshdup | N::Movsldup | N::Vmovsldup => {
                let odd = usize::from(matches!(raw.mnemonic(), N::Movshdup | N::Vmovshdup));
                let (a, count) = self.lanes(op, 1)?;
                let lanes: Vec<_> = (0..count).map(|i| a[i / 2 * 2 + odd]).collect();
                self.put(op, &lanes)?;
            }
            N::Vbroadcasti128 | N::Vbroadcastf128 => {
                let (a, _) = self.lanes(op, 1)?;
                let lanes: Vec<_> = (0..8).map(|i| a[i % 4]).collect();
                self.put(op, &lanes)?;
            }
            N::Vextracti128 | N::Vextractf128 => {
                let (a, _) = self.lanes(op, 1)?;
                let half = 4 * (control & 1);
                if Self::is_memory(op, 0) {
                    let address = self.address(op)?;
                    self.store_lanes(address, &a[half..half + 4])?;
                } else {
                    self.put(op, &a[half..half + 4])?;
                }
            }
            N::Vinserti128 | N::Vinsertf128 => {
                let (mut a, _) = self.lanes(op, 1)?;
                let (b, _) = self.lanes(op, 2)?;
                let half = 4 * (control & 1);
                a[half..half + 4].copy_from_slice(&b[..4]);
                self.put(op, &a)?;
            }
            N::Vpermq | N::Vpermpd if raw.try_immediate(2).is_ok() => {
                let (a, _) = self.lanes(op, 1)?;
                let lanes: Vec<_> = (0..8)
                    .map(|i| a[2 * (control >> (2 * (i / 2)) & 3) + i % 2])
                    .collect();
                self.put(op, &lanes)?;
            }
            N::Vperm2i128 | N::Vperm2f128 => {
                let (a, _) = self.lanes(op, 1)?;
                let (b, _) = self.lanes(op, 2)?;
                let mut lanes = Vec::new();
                for half in [control & 15, control >> 4 & 15] {
                    let source = if half & 2 == 0 { &a } else { &b };
                    let from = 4 * (half & 1);
                    for lane in &source[from..from + 4] {
                        lanes.push(if half & 8 == 0 { *lane } else { zero });
                    }
                }
                self.put(op, &lanes)?;
            }
            N::Vpermd | N::Vpermps => {
                let (indices, _) = self.lanes(op, 1)?;
                let (b, _) = self.lanes(op, 2)?;
                let mut lanes = Vec::new();
                for index in indices {
                    let Some(index) = self.d.known(index) else {
                        return unsupported(op);
                    };
                    lanes.push(b[(index & 7) as usize]);
                }
                self.put(op, &lanes)?;
            }
            N::Vpmaskmovd | N::Vmaskmovps => self.masked_move(op)?,
            N::Vpgatherdd => self.gather(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// movd and movq: the low lanes, the rest of the 128 bits cleared.
    fn move_low(&mut self, op: &Op, count: usize) -> Result<()> {
        let raw = &op.raw;
        let zero = self.d.number(0, 32);
        let bits = 32 * count as u8;
        if !Self::is_memory(op, 0) && vector_number(raw.op0_register()).is_some() {
            let mut lanes = [zero; 4];
            if !Self::is_memory(op, 1) && vector_number(raw.op1_register()).is_some() {
                let (source, _) = self.lanes(op, 1)?;
                lanes[..count].copy_from_slice(&source[..count]);
            } else {
                let value = self.read(op, 1, bits)?;
                let elements = if count == 2 {
                    self.packed(&[value], 64)
                } else {
                    vec![value]
                };
                lanes[..count].copy_from_slice(&elements);
            }
            return self.put(op, &lanes);
        }
        let (source, _) = self.lanes(op, 1)?;
        if Self::is_memory(op, 0) {
            let address = self.address(op)?;
            return self.store_lanes(address, &source[..count]);
        }
        let value = if count == 2 {
            self.d.concat((source[0], 32), (source[1], 32))
        } else {
            source[0]
        };
        self.write(op, 0, value)
    }

    /// movss and movsd as moves of bits.
    fn move_float(&mut self, op: &Op, count: usize) -> Result<()> {
        let zero = self.d.number(0, 32);
        if Self::is_memory(op, 0) {
            let (source, _) = self.lanes(op, 1)?;
            let address = self.address(op)?;
            return self.store_lanes(address, &source[..count]);
        }
        let last = op.raw.op_count() - 1;
        let mut lanes = [zero; 4];
        if Self::is_memory(op, last) {
            let address = self.address(op)?;
            let (loaded, _) = self.load_lanes(address, count)?;
            lanes[..count].copy_from_slice(&loaded[..count]);
        } else {
            let (a, _) = self.lanes(op, last - 1)?;
            let (b, _) = self.lanes(op, last)?;
            lanes.copy_from_slice(&a[..4]);
            lanes[..count].copy_from_slice(&b[..count]);
        }
        self.put(op, &lanes)
    }

    /// movlps and movhps: two lanes to or from memory.
    fn move_half(&mut self, op: &Op, at: usize) -> Result<()> {
        if Self::is_memory(op, 0) {
            let (source, _) = self.lanes(op, 1)?;
            let address = self.address(op)?;
            return self.store_lanes(address, &source[at..at + 2]);
        }
        let last = op.raw.op_count() - 1;
        let (mut a, _) = self.lanes(op, last - 1)?;
        let address = self.address(op)?;
        let (loaded, _) = self.load_lanes(address, 2)?;
        a[at..at + 2].copy_from_slice(&loaded[..2]);
        self.put(op, &a[..4])
    }

    fn interleave(&mut self, op: &Op, bits: u8, high: bool) -> Result<()> {
        let first = Self::first(op);
        let (a, count) = self.lanes(op, first)?;
        let (b, _) = self.lanes(op, first + 1)?;
        let per_half = 128 / bits as usize;
        let a = self.elements(&a[..count], bits);
        let b = self.elements(&b[..count], bits);
        let mut all = Vec::new();
        for half in (0..a.len()).step_by(per_half) {
            let from = half + if high { per_half / 2 } else { 0 };
            for index in from..from + per_half / 2 {
                all.push(a[index]);
                all.push(b[index]);
            }
        }
        let lanes = self.packed(&all, bits);
        self.put(op, &lanes)
    }

    /// 16 bytes out of two times four lanes (`low` first), from byte `from` on.
    fn window(&mut self, low: &[D::V], high: &[D::V], from: usize) -> Vec<D::V> {
        let all: Vec<D::V> = low.iter().chain(high).copied().collect();
        if from.is_multiple_of(4) {
            return all[from / 4..from / 4 + 4].to_vec();
        }
        let bytes = self.elements(&all, 8);
        self.packed(&bytes[from..from + 16], 8)
    }

    fn extract_element(&mut self, op: &Op, bits: u8, control: usize) -> Result<()> {
        let (a, _) = self.lanes(op, 1)?;
        let elements = self.elements(&a[..4], bits);
        let value = elements[control % elements.len()];
        if Self::is_memory(op, 0) {
            let address = self.address(op)?;
            return self.memory.store(self.d, address, bits / 8, value);
        }
        let register = op.raw.op0_register();
        let value = match bits {
            64 => return self.set(register.full_register(), value),
            32 => value,
            _ => self.d.zext(value, bits, 32),
        };
        self.set(register.full_register32(), value)
    }

    fn insert_element(&mut self, op: &Op, bits: u8, control: usize) -> Result<()> {
        let first = Self::first(op);
        let (a, _) = self.lanes(op, first)?;
        let mut elements = self.elements(&a[..4], bits);
        let value = if Self::is_memory(op, first + 1) {
            let address = self.address(op)?;
            self.memory.load(self.d, address, bits / 8)?
        } else {
            let whole = self.get(op.raw.op_register(first + 1).full_register())?;
            self.d.extract(whole, 64, 0, bits)
        };
        let count = elements.len();
        elements[control % count] = value;
        let lanes = self.packed(&elements, bits);
        self.put(op, &lanes)
    }

    /// pmovsx and pmovzx.
    fn widen(&mut self, op: &Op, from: u8, to: u8, signed: bool) -> Result<()> {
        let count = op.raw.op0_register().size() * 8 / usize::from(to);
        let bytes = count * usize::from(from) / 8;
        let elements: Vec<D::V> = if Self::is_memory(op, 1) {
            let address = self.address(op)?;
            if bytes >= 4 {
                let (lanes, lane_count) = self.load_lanes(address, bytes / 4)?;
                self.elements(&lanes[..lane_count], from)
            } else {
                let value = self.memory.load(self.d, address, bytes as u8)?;
                let whole = bytes as u8 * 8;
                (0..count)
                    .map(|i| self.d.extract(value, whole, i as u8 * from, from))
                    .collect()
            }
        } else {
            let (lanes, _) = self.lanes(op, 1)?;
            let lane_count = bytes.div_ceil(4);
            self.elements(&lanes[..lane_count], from)
        };
        let all: Vec<D::V> = elements[..count]
            .iter()
            .map(|x| match signed {
                true => self.d.sext(*x, from, to),
                false => self.d.zext(*x, from, to),
            })
            .collect();
        let lanes = self.packed(&all, to);
        self.put(op, &lanes)
    }

    /// Blends by the sign of each element of a mask.
    fn blend_variable(&mut self, op: &Op, bits: u8) -> Result<()> {
        let first = Self::first(op);
        let (a, count) = self.lanes(op, first)?;
        let (b, _) = self.lanes(op, first + 1)?;
        let mask = if Self::is_vex(op) {
            self.lanes(op, 3)?.0
        } else {
            self.state.vectors[0]
        };
        // A mask of whole lanes (as comparisons leave it) needs no look at its bytes.
        let zero = self.d.number(0, 32);
        let mut lanes = Vec::with_capacity(count);
        if bits == 64 {
            for index in 0..count {
                let chosen = self.d.slt(mask[index | 1], zero, 32);
                lanes.push(self.d.ite(chosen, b[index], a[index], 32));
            }
            return self.put(op, &lanes);
        }
        for index in 0..count {
            let sign = self.d.slt(mask[index], zero, 32);
            let (ones, none) = (self.d.number(u64::MAX, 32), zero);
            let spread = self.d.ite(sign, ones, none, 32);
            if bits == 32 || spread == mask[index] {
                lanes.push(self.d.ite(sign, b[index], a[index], 32));
                continue;
            }
            let x = self.elements(&a[index..=index], bits);
            let y = self.elements(&b[index..=index], bits);
            let m = self.elements(&mask[index..=index], bits);
            let zero = self.d.number(0, bits);
            let mut parts = Vec::new();
            for element in 0..x.len() {
                let chosen = self.d.slt(m[element], zero, bits);
                parts.push(self.d.ite(chosen, y[element], x[element], bits));
            }
            lanes.extend(self.packed(&parts, bits));
        }
        self.put(op, &lanes)
    }

    /// Blends by an immediate.
    fn blend(&mut self, op: &Op, bits: u8, control: usize) -> Result<()> {
        let first = Self::first(op);
        let (a, count) = self.lanes(op, first)?;
        let (b, _) = self.lanes(op, first + 1)?;
        if bits == 16 {
            // whole lanes where both words come from one side
            let mut lanes = Vec::with_capacity(count);
            for index in 0..count {
                let pair = control >> (2 * (index % 4)) & 3;
                lanes.push(match pair {
                    0 => a[index],
                    3 => b[index],
                    _ => {
                        let x = self.elements(&a[index..=index], 16);
                        let y = self.elements(&b[index..=index], 16);
                        let low = if pair & 1 == 1 { y[0] } else { x[0] };
                        let high = if pair & 2 == 2 { y[1] } else { x[1] };
                        self.d.concat((low, 16), (high, 16))
                    }
                });
            }
            return self.put(op, &lanes);
        }
        let per_element = usize::from(bits / 32);
        let lanes: Vec<_> = (0..count)
            .map(|i| match control >> (i / per_element) & 1 {
                1 => b[i],
                _ => a[i],
            })
            .collect();
        self.put(op, &lanes)
    }

    fn broadcast(&mut self, op: &Op, bits: u8) -> Result<()> {
        let count = op.raw.op0_register().size() / 4;
        let element = if Self::is_memory(op, 1) {
            let address = self.address(op)?;
            self.memory.load(self.d, address, bits / 8)?
        } else {
            let (lanes, _) = self.lanes(op, 1)?;
            self.elements(&lanes[..2], bits)[0]
        };
        let all = vec![element; count * 32 / usize::from(bits)];
        let lanes = self.packed(&all, bits);
        self.put(op, &lanes)
    }

    /// Loads or stores the lanes whose mask is negative.
    fn masked_move(&mut self, op: &Op) -> Result<()> {
        let zero = self.d.number(0, 32);
        let store = Self::is_memory(op, 0);
        let address = self.address(op)?;
        let (mask, count) = self.lanes(op, 1)?;
        let mut lanes = vec![zero; count];
        let values = if store { self.lanes(op, 2)?.0 } else { mask };
        for index in 0..count {
            let chosen = self.d.slt(mask[index], zero, 32);
            if self.d.known_truth(chosen) == Some(false) {
                continue;
            }
            let offset = self.d.number(4 * index as u64, 64);
            let at = self.d.add(address, offset, 64);
            let old = self.memory.load(self.d, at, 4)?;
            if store {
                let new = self.d.ite(chosen, values[index], old, 32);
                self.memory.store(self.d, at, 4, new)?;
            } else {
                lanes[index] = self.d.ite(chosen, old, zero, 32);
            }
        }
        if store {
            return Ok(());
        }
        self.put(op, &lanes)
    }

    /// Loads lanes from base + index, where the mask (which is cleared) is negative.
    fn gather(&mut self, op: &Op) -> Result<()> {
        let raw = &op.raw;
        let (Some(index), Some(mask_number), Some(target)) = (
            vector_number(raw.memory_index()),
            vector_number(raw.op2_register()),
            vector_number(raw.op0_register()),
        ) else {
            return unsupported(op);
        };
        let count = raw.op0_register().size() / 4;
        let mut base = match op.displacement {
            Some(place) => self.place(place),
            None => self.d.number(raw.memory_displacement64(), 64),
        };
        if raw.memory_base() != Register::None {
            let register = self.get(raw.memory_base())?;
            base = self.d.add(base, register, 64);
        }
        let scale = self.d.number(u64::from(raw.memory_index_scale()), 64);
        let zero = self.d.number(0, 32);
        let old = self.state.vectors[target];
        let mask = self.state.vectors[mask_number];
        let indices = self.state.vectors[index];
        let mut lanes = vec![zero; count];
        for (i, lane) in lanes.iter_mut().enumerate() {
            let chosen = self.d.slt(mask[i], zero, 32);
            if self.d.known_truth(chosen) == Some(false) {
                *lane = old[i];
                continue;
            }
            let offset = self.d.sext(indices[i], 32, 64);
            let offset = self.d.mul(offset, scale, 64);
            let at = self.d.add(base, offset, 64);
            let loaded = self.memory.load(self.d, at, 4)?;
            *lane = self.d.ite(chosen, loaded, old[i], 32);
        }
        self.put(op, &lanes)?;
        self.state.vectors[mask_number] = [zero; LANES];
        Ok(())
    }
}

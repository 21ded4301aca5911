//! A real edge of a proof with memory as arrays: both programs are executed by the same semantics, over SMT-LIB text without any normal
//! form, from the proof's own claims at a loop head, once around the loop.
use std::fmt::Write as _;

use candor_prove::domain::{Arithmetic, Domain, Side};
use candor_prove::image::{Code, Image};
use candor_prove::ir::{Env, Flow, Function, SourceMemory, Val};
use candor_prove::x86::{Cpu, Flags, LANES, Memory, Next, Place, State, Unsupported};
use candor_prove::{Column, Definition, Hypothesis, MachineEnd, Node, Proof};

/// SMT-LIB text: every value has a name.
#[derive(Default)]
pub struct Text {
    script: String,
    /// Names, and what is known of them: a number, or a place.
    values: Vec<(String, Option<Place>)>,
    truths: Vec<(String, Option<bool>)>,
    asserted: Vec<String>,
    fresh: usize,
}

impl Text {
    fn declare(&mut self, width: u8) -> usize {
        self.fresh += 1;
        let name = format!("x{}", self.fresh);
        let _ = writeln!(self.script, "(declare-const {name} (_ BitVec {width}))");
        self.values.push((name, None));
        self.values.len() - 1
    }

    fn define(&mut self, width: u8, body: &str) -> usize {
        self.fresh += 1;
        let name = format!("x{}", self.fresh);
        let _ = writeln!(
            self.script,
            "(define-fun {name} () (_ BitVec {width}) {body})"
        );
        self.values.push((name, None));
        self.values.len() - 1
    }

    fn truth_of(&mut self, body: &str) -> usize {
        self.fresh += 1;
        let name = format!("b{}", self.fresh);
        let _ = writeln!(self.script, "(define-fun {name} () Bool {body})");
        self.truths.push((name, None));
        self.truths.len() - 1
    }

    fn name(&self, value: usize) -> &str {
        &self.values[value].0
    }

    fn truth_name(&self, value: usize) -> &str {
        &self.truths[value].0
    }

    fn binary(&mut self, op: &str, a: usize, b: usize, width: u8) -> usize {
        let body = format!("({op} {} {})", self.name(a), self.name(b));
        self.define(width, &body)
    }

    fn compare(&mut self, op: &str, a: usize, b: usize) -> usize {
        let body = format!("({op} {} {})", self.name(a), self.name(b));
        self.truth_of(&body)
    }

    fn assert(&mut self, truth: usize) {
        let name = self.truth_name(truth).to_owned();
        self.asserted.push(name);
    }

    fn place(&self, value: usize) -> Option<Place> {
        self.values[value].1
    }
}

fn ones(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width.clamp(1, 64)))
}

impl Domain for Text {
    type V = usize;
    type B = usize;

    fn number(&mut self, value: u64, w: u8) -> usize {
        let value = value & ones(w);
        self.values.push((
            format!("(_ bv{value} {w})"),
            Some(Place {
                unit: None,
                offset: value as i64,
            }),
        ));
        self.values.len() - 1
    }
    fn known(&self, a: usize) -> Option<u64> {
        match self.place(a)? {
            Place { unit: None, offset } => Some(offset as u64),
            _ => None,
        }
    }
    fn known_truth(&self, a: usize) -> Option<bool> {
        self.truths[a].1
    }
    fn add(&mut self, a: usize, b: usize, w: u8) -> usize {
        if let (Some(x), Some(y)) = (self.known(a), self.known(b)) {
            return self.number(x.wrapping_add(y), w);
        }
        let sum = self.binary("bvadd", a, b, w);
        // addresses of constants in the program are looked up
        if let (Some(place), Some(number)) = (self.place(a), self.known(b)) {
            self.values[sum].1 = Some(Place {
                unit: place.unit,
                offset: place.offset.wrapping_add(number as i64),
            });
        }
        sum
    }
    fn sub(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvsub", a, b, w)
    }
    fn mul(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvmul", a, b, w)
    }
    fn and(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvand", a, b, w)
    }
    fn or(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvor", a, b, w)
    }
    fn xor(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvxor", a, b, w)
    }
    fn shl(&mut self, a: usize, by: usize, w: u8) -> usize {
        self.binary("bvshl", a, by, w)
    }
    fn lshr(&mut self, a: usize, by: usize, w: u8) -> usize {
        self.binary("bvlshr", a, by, w)
    }
    fn ashr(&mut self, a: usize, by: usize, w: u8) -> usize {
        self.binary("bvashr", a, by, w)
    }
    fn udiv(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvudiv", a, b, w)
    }
    fn urem(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvurem", a, b, w)
    }
    fn sdiv(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvsdiv", a, b, w)
    }
    fn srem(&mut self, a: usize, b: usize, w: u8) -> usize {
        self.binary("bvsrem", a, b, w)
    }
    fn sext(&mut self, a: usize, from: u8, to: u8) -> usize {
        let body = format!("((_ sign_extend {}) {})", to - from, self.name(a));
        self.define(to, &body)
    }
    fn zext(&mut self, a: usize, from: u8, to: u8) -> usize {
        let body = format!("((_ zero_extend {}) {})", to - from, self.name(a));
        self.define(to, &body)
    }
    fn extract(&mut self, a: usize, _from: u8, low: u8, w: u8) -> usize {
        if let Some(number) = self.known(a) {
            return self.number(number >> low, w);
        }
        let body = format!("((_ extract {} {low}) {})", low + w - 1, self.name(a));
        self.define(w, &body)
    }
    fn concat(&mut self, low: (usize, u8), high: (usize, u8)) -> usize {
        let body = format!("(concat {} {})", self.name(high.0), self.name(low.0));
        self.define(low.1 + high.1, &body)
    }
    fn eq(&mut self, a: usize, b: usize, _w: u8) -> usize {
        self.compare("=", a, b)
    }
    fn slt(&mut self, a: usize, b: usize, _w: u8) -> usize {
        self.compare("bvslt", a, b)
    }
    fn ult(&mut self, a: usize, b: usize, _w: u8) -> usize {
        self.compare("bvult", a, b)
    }
    fn truth(&mut self, value: bool) -> usize {
        self.truths.push((value.to_string(), Some(value)));
        self.truths.len() - 1
    }
    fn not(&mut self, a: usize) -> usize {
        let body = format!("(not {})", self.truth_name(a));
        self.truth_of(&body)
    }
    fn both(&mut self, a: usize, b: usize) -> usize {
        let body = format!("(and {} {})", self.truth_name(a), self.truth_name(b));
        self.truth_of(&body)
    }
    fn either(&mut self, a: usize, b: usize) -> usize {
        let body = format!("(or {} {})", self.truth_name(a), self.truth_name(b));
        self.truth_of(&body)
    }
    fn ite(&mut self, c: usize, a: usize, b: usize, w: u8) -> usize {
        let body = format!(
            "(ite {} {} {})",
            self.truth_name(c),
            self.name(a),
            self.name(b)
        );
        self.define(w, &body)
    }
    fn no_wrap(&mut self, _: Arithmetic, _: usize, _: usize, _: usize, _: u8) {}
    fn require(&mut self, side: Side, condition: usize) {
        if side == Side::Source {
            self.assert(condition);
        }
    }
}

/// A memory: the name of the present array of words.
struct Array<'a> {
    now: String,
    image: &'a Image,
    bases: Vec<usize>,
}

const SORT: &str = "(Array (_ BitVec 64) (_ BitVec 32))";

impl Array<'_> {
    fn read(&self, d: &mut Text, address: usize, bytes: u8) -> Result<usize, Unsupported> {
        if let Some(place) = d.place(address)
            && let Some(constant) = self.image.constant(place, bytes)
        {
            let mut number = [0; 8];
            number[..constant.len()].copy_from_slice(constant);
            return Ok(d.number(u64::from_le_bytes(number), bytes * 8));
        }
        let word = |d: &mut Text, at: usize| {
            let body = format!("(select {} {})", self.now, d.name(at));
            d.define(32, &body)
        };
        match bytes {
            4 => Ok(word(d, address)),
            8 => {
                let four = d.number(4, 64);
                let next = d.add(address, four, 64);
                let (low, high) = (word(d, address), word(d, next));
                Ok(d.concat((low, 32), (high, 32)))
            }
            _ => Err(Unsupported("an access that is no word".to_owned())),
        }
    }

    fn write(
        &mut self,
        d: &mut Text,
        address: usize,
        bytes: u8,
        value: usize,
    ) -> Result<(), Unsupported> {
        for index in 0..bytes / 4 {
            let by = d.number(u64::from(index) * 4, 64);
            let at = d.add(address, by, 64);
            let part = if bytes == 4 {
                value
            } else {
                d.extract(value, 64, index * 32, 32)
            };
            d.fresh += 1;
            let name = format!("m{}", d.fresh);
            let _ = writeln!(
                d.script,
                "(define-fun {name} () {SORT} (store {} {} {}))",
                self.now, d.values[at].0, d.values[part].0
            );
            self.now = name;
        }
        if bytes < 4 {
            return Err(Unsupported("an access that is no word".to_owned()));
        }
        Ok(())
    }
}

impl Memory<Text> for Array<'_> {
    fn load(&mut self, d: &mut Text, address: usize, bytes: u8) -> Result<usize, Unsupported> {
        self.read(d, address, bytes)
    }
    fn store(
        &mut self,
        d: &mut Text,
        address: usize,
        bytes: u8,
        value: usize,
    ) -> Result<(), Unsupported> {
        self.write(d, address, bytes, value)
    }
}

impl SourceMemory<Text> for Array<'_> {
    fn global(&mut self, d: &mut Text, name: &str) -> Result<usize, Unsupported> {
        let symbol = self.image.symbols.get(name);
        let place = symbol
            .ok_or_else(|| Unsupported(format!("`{name}`")))?
            .place;
        Ok(at_place(d, &self.bases, place))
    }
    fn load(
        &mut self,
        d: &mut Text,
        address: usize,
        bytes: u8,
        _: Option<&str>,
    ) -> Result<usize, Unsupported> {
        self.read(d, address, bytes)
    }
    fn store(
        &mut self,
        d: &mut Text,
        address: usize,
        bytes: u8,
        value: usize,
        _: Option<&str>,
    ) -> Result<(), Unsupported> {
        self.write(d, address, bytes, value)
    }
    fn call(
        &mut self,
        _: &mut Text,
        callee: &str,
        _: &[(usize, u8)],
        _: Option<u8>,
    ) -> Result<Option<usize>, Unsupported> {
        Err(Unsupported(format!("the call of `{callee}`")))
    }
}

fn at_place(d: &mut Text, bases: &[usize], place: Place) -> usize {
    let offset = d.number(place.offset as u64, 64);
    match place.unit {
        Some(unit) => d.add(bases[unit as usize], offset, 64),
        None => offset,
    }
}

/// Both programs at the loop head.
struct Moment<'a> {
    function: &'a Function,
    env: Env<Text>,
    state: State<Text>,
}

impl Moment<'_> {
    fn value(&self, d: &mut Text, column: Column) -> Result<usize, Unsupported> {
        Ok(match column {
            Column::Source(id) => match self.env[id.0 as usize] {
                Some(Val::Int(value)) => value,
                _ => return Err(Unsupported("a source value that is missing".to_owned())),
            },
            Column::Reg(number) => self.state.regs[number as usize],
            Column::Low(number) | Column::LowAny(number) => {
                d.extract(self.state.regs[number as usize], 64, 0, 32)
            }
            Column::Lane(register, lane) => self.state.vectors[register as usize][lane as usize],
            _ => {
                return Err(Unsupported(
                    "a claim about the frame or residues".to_owned(),
                ));
            }
        })
    }

    fn sum(
        &self,
        d: &mut Text,
        bases: &[usize],
        terms: &[(i64, Column)],
        constant: Place,
        width: u8,
    ) -> Result<usize, Unsupported> {
        let mut sum = at_place(d, bases, constant);
        if width < 64 {
            sum = d.extract(sum, 64, 0, width);
        }
        for (factor, column) in terms {
            let mut value = self.value(d, *column)?;
            let own = column.width(self.function);
            if own < width {
                value = d.sext(value, own, width);
            }
            let factor = d.number(*factor as u64, width);
            let product = d.mul(factor, value, width);
            sum = d.add(sum, product, width);
        }
        Ok(sum)
    }

    fn set(&mut self, d: &mut Text, column: Column, value: usize) {
        match column {
            Column::Source(id) => self.env[id.0 as usize] = Some(Val::Int(value)),
            Column::Reg(number) => self.state.regs[number as usize] = value,
            Column::Low(number) => self.state.regs[number as usize] = d.zext(value, 32, 64),
            Column::LowAny(number) => {
                let upper = d.declare(32);
                self.state.regs[number as usize] = d.concat((value, 32), (upper, 32));
            }
            Column::Lane(register, lane) => {
                self.state.vectors[register as usize][lane as usize] = value;
            }
            _ => {}
        }
    }

    fn assume(&self, d: &mut Text, hypothesis: &Hypothesis) -> Result<(), Unsupported> {
        let (column, number) = match hypothesis {
            Hypothesis::AtLeast(column, number) | Hypothesis::AtMost(column, number) => {
                (*column, *number)
            }
            Hypothesis::Mod(column, ..) | Hypothesis::ModAny(column, ..) => (*column, 0),
            _ => return Ok(()),
        };
        let width = column.width(self.function);
        let value = self.value(d, column)?;
        let number = d.number(number as u64, width);
        let truth = match hypothesis {
            Hypothesis::AtLeast(..) => {
                let below = d.slt(value, number, width);
                d.not(below)
            }
            Hypothesis::AtMost(..) => {
                let above = d.slt(number, value, width);
                d.not(above)
            }
            Hypothesis::Mod(_, modulus, rest) | Hypothesis::ModAny(_, modulus, rest) => {
                let modulus = d.number(*modulus, width);
                let rest = d.number(*rest, width);
                let met = d.urem(value, modulus, width);
                d.eq(met, rest, width)
            }
            _ => return Ok(()),
        };
        d.assert(truth);
        Ok(())
    }
}

/// The question whether both memories are equal after one round of a loop; `Err`: why this encoding has none.
pub fn question(
    image: &Image,
    code: &Code,
    function: &Function,
    proof: &Proof,
) -> Result<(String, usize), String> {
    let edge = proof.edges.iter().find(|edge| {
        edge.from.map(MachineEnd::Head) == Some(edge.to) && edge.edge.steps.len() == 1
    });
    let (Some(edge), true) = (edge, proof.nodes.len() == 1) else {
        return Err("more than one loop".to_owned());
    };
    let node = &proof.nodes[0];
    let steps = edge.edge.steps.first().copied().unwrap_or(0);
    encoded(image, code, function, node, steps)
        .map(|text| (text, steps))
        .map_err(|unsupported| unsupported.0)
}

fn encoded(
    image: &Image,
    code: &Code,
    function: &Function,
    node: &Node,
    steps: usize,
) -> Result<String, Unsupported> {
    let mut d = Text::default();
    let _ = writeln!(d.script, "(declare-const M {SORT})");
    let mut bases = Vec::new();
    for (index, unit) in image.units.iter().enumerate() {
        let base = d.declare(64);
        d.values[base].1 = Some(Place {
            unit: Some(index as u32),
            offset: 0,
        });
        let low = d.number(0x1000, 64);
        let high = d.number(1 << 46, 64);
        let below = d.ult(base, low, 64);
        let inside = d.not(below);
        d.assert(inside);
        let under = d.ult(base, high, 64);
        d.assert(under);
        let mask = d.number(unit.align.max(1) - 1, 64);
        let rest = d.and(base, mask, 64);
        let zero = d.number(0, 64);
        let aligned = d.eq(rest, zero, 64);
        d.assert(aligned);
        bases.push(base);
    }
    let mut now = Moment {
        function,
        env: vec![None; function.values.len()],
        state: State {
            regs: std::array::from_fn(|_| d.declare(64)),
            vectors: std::array::from_fn(|_| std::array::from_fn(|_: usize| d.declare(32))),
            flags: Flags::Unknown,
        },
    };
    const { assert!(LANES == 8) };
    for id in &node.sources {
        let value = d.declare(function.value(*id).width);
        now.env[id.0 as usize] = Some(Val::Int(value));
    }
    // definitions in the order in which they need each other
    let mut left: Vec<_> = node.invariants.clone();
    while !left.is_empty() {
        let open: Vec<Column> = left.iter().map(|one| one.column).collect();
        let before = left.len();
        let mut later = Vec::new();
        for one in left {
            let (terms, constant, cell) = match &one.by {
                Definition::Affine {
                    terms, constant, ..
                } => (terms, *constant, false),
                Definition::Cell { terms, constant } => (terms, *constant, true),
                // weaker: such a value stays free
                _ => continue,
            };
            if terms.iter().any(|(_, column)| open.contains(column)) {
                later.push(one);
                continue;
            }
            let width = one.column.width(function);
            let sum = now.sum(
                &mut d,
                &bases,
                terms,
                constant,
                if cell { 64 } else { width },
            )?;
            let value = if cell {
                let body = format!("(select M {})", d.name(sum));
                d.define(32, &body)
            } else {
                sum
            };
            now.set(&mut d, one.column, value);
        }
        if later.len() == before {
            return Err(Unsupported("definitions in a circle".to_owned()));
        }
        left = later;
    }
    for hypothesis in &node.hypotheses {
        now.assume(&mut d, hypothesis)?;
    }
    let new = || Array {
        now: "M".to_owned(),
        image,
        bases: bases.clone(),
    };
    let mut machine = new();
    run_machine(&mut d, code, node.at, &mut now.state, &mut machine, &bases)?;
    let mut source = new();
    run_source(&mut d, function, node, steps, &mut now.env, &mut source)?;
    let mut text = format!("(set-logic QF_ABV)\n{}", d.script);
    for name in &d.asserted {
        let _ = writeln!(text, "(assert {name})");
    }
    let _ = writeln!(
        text,
        "(assert (not (= {} {})))\n(check-sat)",
        source.now, machine.now
    );
    Ok(text)
}

/// Once around the loop; the branch back is taken.
fn run_machine(
    d: &mut Text,
    code: &Code,
    head: u64,
    state: &mut State<Text>,
    memory: &mut Array<'_>,
    bases: &[usize],
) -> Result<(), Unsupported> {
    let mut at = head;
    loop {
        let op = code
            .ops
            .get(&at)
            .ok_or_else(|| Unsupported("a jump out of the function".to_owned()))?;
        let mut cpu = Cpu {
            d: &mut *d,
            state: &mut *state,
            memory: &mut *memory,
            bases,
        };
        let next = cpu.step(op)?;
        let after = op.raw.next_ip();
        at = match next {
            Next::Fall => after,
            Next::Jump(to) => to,
            Next::Branch(condition, to) if to == head => {
                d.assert(condition);
                to
            }
            _ => return Err(Unsupported("a loop with branches".to_owned())),
        };
        if at == head {
            return Ok(());
        }
    }
}

/// So many iterations of the source, always the way back to the head.
fn run_source(
    d: &mut Text,
    function: &Function,
    node: &Node,
    steps: usize,
    env: &mut Env<Text>,
    memory: &mut Array<'_>,
) -> Result<(), Unsupported> {
    let mut block = node.head;
    let mut done = 0;
    while done < steps {
        let Flow::To(targets) = function.run_block(d, memory, env, block)? else {
            return Err(Unsupported("a source loop that ends".to_owned()));
        };
        // the loop's body comes first in C's loops
        let Some((condition, to)) = targets.first().copied() else {
            return Err(Unsupported("a block without a way on".to_owned()));
        };
        if targets.len() > 1 {
            if block != node.head {
                return Err(Unsupported("a source loop with branches".to_owned()));
            }
            d.assert(condition);
        }
        let mut chosen = Vec::new();
        for phi in &function.block(to).phis {
            let Some(operand) = phi.from.get(&block) else {
                return Err(Unsupported("a phi without a value".to_owned()));
            };
            let width = function.value(phi.to).width;
            chosen.push((phi.to, function.operand(d, memory, env, operand, width)?));
        }
        for (to, value) in chosen {
            env[to.0 as usize] = Some(value);
        }
        block = to;
        done += usize::from(block == node.head);
    }
    Ok(())
}

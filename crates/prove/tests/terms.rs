//! The simplifier against plain arithmetic: random expressions, built as terms and computed as numbers.
#![allow(clippy::unwrap_used)]

use candor_prove::domain::{Concrete, Domain};
use candor_prove::term::{Bool, Bv, Model, Terms};

const WIDTHS: [u8; 5] = [1, 8, 16, 32, 64];
const MODELS: usize = 6;

fn mask(w: u8) -> u64 {
    if w == 64 { u64::MAX } else { (1 << w) - 1 }
}

/// A value that tells boundary mistakes from luck.
fn interesting(random: &mut fastrand::Rng, w: u8) -> u64 {
    let value = match random.u8(0..8) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << (w - 1),
        3 => (1 << (w - 1)) - 1,
        4 => random.u64(0..8),
        5 => random.u64(..) & random.u64(..) & random.u64(..),
        _ => random.u64(..),
    };
    value & mask(w)
}

/// A variable: name, width, and the interval (signed) that the context knows, if any.
struct Variable {
    name: String,
    width: u8,
    values: [u64; MODELS],
}

fn cell(address: u64, epoch: u32, width: u8) -> u64 {
    let mixed = (address ^ u64::from(epoch) << 50).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 7 ^ mixed >> 31) & mask(width)
}

struct Generator {
    random: fastrand::Rng,
    terms: Terms,
    numbers: Concrete,
    variables: Vec<Variable>,
    values: Vec<(Bv, u8, [u64; MODELS])>,
    conditions: Vec<(Bool, [bool; MODELS])>,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut generator = Generator {
            random: fastrand::Rng::with_seed(seed),
            terms: Terms::new(),
            numbers: Concrete::default(),
            variables: Vec::new(),
            values: Vec::new(),
            conditions: Vec::new(),
        };
        for w in WIDTHS {
            for n in 0..2 {
                let name = format!("x{w}.{n}");
                let value = generator.terms.var(&name, w);
                // every second one has a known interval, as loop counters have
                let mut values = [0; MODELS];
                if n == 1 && w >= 32 {
                    let low = generator.random.i64(-20..200);
                    let high = low + generator.random.i64(0..40_000);
                    let (l, h) = (
                        generator.terms.integer(low, w),
                        generator.terms.integer(high, w),
                    );
                    let below = generator.terms.slt(value, l);
                    let above = generator.terms.slt(h, value);
                    let (a, b) = (generator.terms.not(below), generator.terms.not(above));
                    generator.terms.assume(a);
                    generator.terms.assume(b);
                    values =
                        std::array::from_fn(|_| generator.random.i64(low..=high) as u64 & mask(w));
                } else {
                    for slot in &mut values {
                        *slot = interesting(&mut generator.random, w);
                    }
                }
                generator.variables.push(Variable {
                    name,
                    width: w,
                    values,
                });
                generator.values.push((value, w, values));
            }
        }
        generator
    }

    fn pick(&mut self, w: u8) -> (Bv, [u64; MODELS]) {
        let fitting: Vec<usize> = (0..self.values.len())
            .filter(|index| self.values[*index].1 == w)
            .collect();
        if self.random.u8(0..5) == 0 {
            let number = interesting(&mut self.random, w);
            return (self.terms.constant(number, w), [number; MODELS]);
        }
        // recent values more often: expressions grow
        let back = self.random.usize(0..fitting.len().min(8));
        let index = if self.random.bool() {
            fitting[fitting.len() - 1 - back]
        } else {
            fitting[self.random.usize(0..fitting.len())]
        };
        let (value, _, numbers) = self.values[index];
        (value, numbers)
    }

    fn step(&mut self) -> String {
        let w = WIDTHS[self.random.usize(0..WIDTHS.len())];
        let (a, x) = self.pick(w);
        let (b, y) = self.pick(w);
        let t = &mut self.terms;
        let n = &mut self.numbers;
        let each = |f: &mut dyn FnMut(u64, u64) -> u64| -> [u64; MODELS] {
            std::array::from_fn(|i| f(x[i], y[i]))
        };
        let choice = self.random.u8(0..26);
        let shift = self.random.u64(0..u64::from(w) + 1);
        let (value, width, numbers) = match choice {
            0..3 => (Domain::add(t, a, b, w), w, each(&mut |x, y| n.add(x, y, w))),
            3 => (Domain::sub(t, a, b, w), w, each(&mut |x, y| n.sub(x, y, w))),
            4 => (Domain::mul(t, a, b, w), w, each(&mut |x, y| n.mul(x, y, w))),
            5 => (Domain::and(t, a, b, w), w, each(&mut |x, y| n.and(x, y, w))),
            6 => (Domain::or(t, a, b, w), w, each(&mut |x, y| n.or(x, y, w))),
            7 => (Domain::xor(t, a, b, w), w, each(&mut |x, y| n.xor(x, y, w))),
            8..11 => {
                let by = t.constant(shift, w);
                let shift = shift & mask(w);
                match choice {
                    8 => (t.shl(a, by), w, each(&mut |x, _| n.shl(x, shift, w))),
                    9 => (t.lshr(a, by), w, each(&mut |x, _| n.lshr(x, shift, w))),
                    _ => (t.ashr(a, by), w, each(&mut |x, _| n.ashr(x, shift, w))),
                }
            }
            11 => (t.shl(a, b), w, each(&mut |x, y| n.shl(x, y, w))),
            12 => (t.lshr(a, b), w, each(&mut |x, y| n.lshr(x, y, w))),
            13 => (t.ashr(a, b), w, each(&mut |x, y| n.ashr(x, y, w))),
            14 => (t.udiv(a, b), w, each(&mut |x, y| n.udiv(x, y, w))),
            15 => {
                let small = t.constant(1 << (shift.min(u64::from(w) - 1)), w);
                let y = 1u64 << shift.min(u64::from(w) - 1);
                (t.sdiv(a, small), w, each(&mut |x, _| n.sdiv(x, y, w)))
            }
            16 | 17 if w < 64 => {
                let to = WIDTHS[WIDTHS.iter().position(|v| *v == w).unwrap() + 1];
                match choice {
                    16 => (t.sext(a, to), to, each(&mut |x, _| n.sext(x, w, to))),
                    _ => (t.zext(a, to), to, each(&mut |x, _| n.zext(x, w, to))),
                }
            }
            18 | 19 if w > 8 => {
                let to = w / 2;
                let low = if choice == 18 { 0 } else { to };
                let low = if self.random.u8(0..4) == 0 {
                    8.min(to)
                } else {
                    low
                };
                (
                    t.extract(a, low, to),
                    to,
                    each(&mut |x, _| n.extract(x, w, low, to)),
                )
            }
            20 if (8..64).contains(&w) => (
                t.concat(&[a, b]),
                2 * w,
                each(&mut |x, y| n.concat((x, w), (y, w))),
            ),
            21 if !self.conditions.is_empty() => {
                let index = self.random.usize(0..self.conditions.len());
                let (c, truths) = self.conditions[index];
                let numbers = std::array::from_fn(|i| if truths[i] { x[i] } else { y[i] });
                (t.ite(c, a, b), w, numbers)
            }
            22 if w == 64 => {
                let numbers = std::array::from_fn(|i| cell(x[i], 0, 32));
                (t.cell(a, 0, 32), 32, numbers)
            }
            23 => (
                t.smax(&[a, b]),
                w,
                each(&mut |x, y| if n.slt(x, y, w) { y } else { x }),
            ),
            24 => {
                let c = t.slt(a, b);
                let numbers = each(&mut |x, y| if n.slt(x, y, w) { x } else { y });
                (t.ite(c, a, b), w, numbers)
            }
            _ => {
                let (c, truths): (Bool, [bool; MODELS]) = match self.random.u8(0..5) {
                    0 => (t.eq(a, b), std::array::from_fn(|i| x[i] == y[i])),
                    1 => (t.ult(a, b), std::array::from_fn(|i| x[i] < y[i])),
                    2 if self.conditions.len() > 2 => {
                        let (p, q) = (
                            self.conditions[self.random.usize(0..self.conditions.len())],
                            self.conditions[self.random.usize(0..self.conditions.len())],
                        );
                        let negated = t.not(q.0);
                        if self.random.bool() {
                            let c = t.and_all(&[p.0, negated]);
                            (c, std::array::from_fn(|i| p.1[i] && !q.1[i]))
                        } else {
                            let c = t.or_all(&[p.0, negated]);
                            (c, std::array::from_fn(|i| p.1[i] || !q.1[i]))
                        }
                    }
                    _ => (t.slt(a, b), std::array::from_fn(|i| n.slt(x[i], y[i], w))),
                };
                self.conditions.push((c, truths));
                return format!("condition on {w} bits");
            }
        };
        if t.trouble.is_none() && t.size(value) < 40 {
            self.values.push((value, width, numbers));
        }
        t.trouble = None;
        format!("operation {choice} on {w} bits, by {shift}")
    }

    fn check(&self, seed: u64, what: &str) {
        let (value, _, numbers) = *self.values.last().unwrap();
        let condition = self.conditions.last();
        for index in 0..MODELS {
            let variable = |name: &str, width: u8| {
                let found = self.variables.iter().find(|v| v.name == name).unwrap();
                assert_eq!(found.width, width);
                found.values[index]
            };
            let model = Model {
                variable: &variable,
                cell: &cell,
            };
            assert_eq!(
                self.terms.eval(value, &model),
                numbers[index],
                "seed {seed}, {what}: {}",
                self.terms.show(value)
            );
            if let Some((c, truths)) = condition {
                assert_eq!(
                    self.terms.holds(*c, &model),
                    truths[index],
                    "seed {seed}, {what}: {}",
                    self.terms.show_condition(*c)
                );
            }
        }
    }
}

#[test]
fn simplified_terms_have_the_values_of_the_expressions_they_came_from() {
    for seed in 0..400 {
        let mut generator = Generator::new(seed);
        for _ in 0..120 {
            let what = generator.step();
            generator.check(seed, &what);
        }
        assert!(generator.values.len() > 40, "seed {seed}");
    }
}

/// Conclusions that are drawn without a solver (intervals, multiples, linear facts) hold in every state that satisfies the hypotheses.
#[test]
fn what_is_concluded_without_a_solver_holds_in_every_state() {
    let mut concluded = 0;
    for seed in 0..1_500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut terms = Terms::new();
        let names = ["m", "i", "q"];
        let variables: Vec<Bv> = names.iter().map(|name| terms.var(name, 32)).collect();
        let mut assumed: Vec<Bool> = Vec::new();
        for value in &variables {
            // small, so that sums do not wrap and every state can be tried
            let low = terms.integer(random.i64(-2..4), 32);
            let high = terms.integer(random.i64(4..20), 32);
            let (below, above) = (terms.slt(*value, low), terms.slt(high, *value));
            assumed.extend([terms.not(below), terms.not(above)]);
        }
        for _ in 0..random.usize(0..4) {
            let condition = random_condition(&mut random, &mut terms, &variables);
            assumed.push(condition);
        }
        for condition in &assumed {
            terms.assume(*condition);
        }
        for _ in 0..6 {
            let goal = random_condition(&mut random, &mut terms, &variables);
            if !terms.valid(goal) {
                continue;
            }
            concluded += 1;
            for state in 0..22u64.pow(3) {
                let number = |place: u32| (state / 22u64.pow(place) % 22).wrapping_sub(2);
                let variable = |name: &str, w: u8| {
                    let place = names.iter().position(|known| *known == name).unwrap();
                    number(place as u32) & mask(w)
                };
                let model = Model {
                    variable: &variable,
                    cell: &cell,
                };
                let possible = assumed.iter().all(|one| terms.holds(*one, &model));
                assert!(
                    !possible || terms.holds(goal, &model),
                    "seed {seed}: {} does not follow, state {state}",
                    terms.show_condition(goal)
                );
            }
        }
    }
    assert!(concluded > 500, "only {concluded} conclusions");
}

/// A comparison of sums of variables, their low bits and their halves.
fn random_condition(random: &mut fastrand::Rng, terms: &mut Terms, variables: &[Bv]) -> Bool {
    let width = if random.bool() { 32 } else { 64 };
    let mut parts: Vec<(u64, Bv)> = Vec::new();
    for value in variables {
        if random.u8(0..3) == 0 {
            continue;
        }
        let mut part = match random.u8(0..6) {
            0 => {
                let low = terms.constant([1, 2, 3, 7][random.usize(0..4)], 32);
                terms.and(*value, low)
            }
            1 => {
                let by = terms.constant(random.u64(1..3), 32);
                terms.lshr(*value, by)
            }
            _ => *value,
        };
        if width == 64 {
            part = terms.sext(part, 64);
        }
        let factor = [1i64, -1, 2, 4, -4, 3][random.usize(0..6)];
        parts.push((factor as u64 & mask(width), part));
    }
    let constant = terms.integer(random.i64(-9..9), width);
    parts.push((1, constant));
    let sum = terms.linear(&parts, width);
    let zero = terms.constant(0, width);
    let condition = match random.u8(0..5) {
        0 => terms.eq(sum, zero),
        1 => {
            let low = terms.constant([1, 3, 7][random.usize(0..3)], width);
            let rest = terms.and(sum, low);
            terms.eq(rest, zero)
        }
        2 => {
            let limit = terms.constant(random.u64(0..8), width);
            terms.ult(limit, sum)
        }
        3 => {
            let other = variables[random.usize(0..variables.len())];
            let other = terms.sext(other, width);
            terms.slt(sum, other)
        }
        _ => terms.slt(sum, zero),
    };
    if random.bool() {
        terms.not(condition)
    } else {
        condition
    }
}

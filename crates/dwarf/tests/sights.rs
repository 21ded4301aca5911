//! Looking at stop after stop sees exactly what looking at each of them anew sees, whatever changes between them.
#![allow(clippy::unwrap_used)]

mod support;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use candor_dwarf::{Avma, Machine, Observation, Sight, Site, SiteOptions, Svma};
use support::{Anything, debug_build};

/// Globals of all sorts, some hidden by locals, some only pieces or constants after optimisation.
const SOURCE: &str = r#"
#include <stdint.h>
struct pair { int16_t a; unsigned b : 5; int c : 11; _Bool d; struct { char e[3]; double f; } g; };
int counter = 3, value = 4;
static int never_read = 9;
static const int fixed = 12;
static uint64_t table[100];
struct pair pairs[7];
static struct pair one;
int *pointer = &value;
struct pair *to_pair = pairs + 2;
void (*code)(void);
float ratio = 1.5f;
long double wide = 2;
static volatile unsigned char odd;
char gap[5000];
int after_the_gap = 1;
static int other(int value) {
  int counter = value * 2;
  never_read = counter;
  one.a += value;
  table[value & 63] ^= one.g.e[value & 1];
  return counter + fixed;
}
int main(int argc, char **argv) {
  for (int i = 0; i < argc + 5; i++) {
    int ratio = other(i);
    odd += ratio;
    pairs[i % 7].b = ratio;
    pointer = pairs[0].c == 1 ? pointer : &counter;
    table[i] += ratio;
    value += other(argc) + after_the_gap;
    gap[i] = odd;
  }
  return one.g.f > 3 ? value : counter + *pointer + (code != 0) + (int)wide + (int)ratio;
}
"#;

/// A machine whose bytes are changed between stops, and whose pages come and go.
struct Changing {
    bytes: RefCell<BTreeMap<u64, u8>>,
    gone: RefCell<BTreeSet<u64>>,
    bias: u64,
}

impl Machine for Changing {
    fn register(&self, register: u16) -> Option<u128> {
        Anything.register(register)
    }

    fn read(&self, at: Avma, buf: &mut [u8]) -> bool {
        let (bytes, gone) = (self.bytes.borrow(), self.gone.borrow());
        for (address, byte) in (at.0..).zip(buf.iter_mut()) {
            if gone.contains(&(address >> 8)) {
                return false;
            }
            *byte = bytes.get(&address).copied().unwrap_or(0);
        }
        true
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn fs_base(&self) -> Option<u64> {
        Some(0x7f00_0000)
    }
}

/// Numbers that look random and are the same each time (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

#[test]
fn looking_on_is_looking_anew() {
    for (compiler, level, dwarf, pie) in [
        ("gcc-12", "-O0", 5, false),
        ("gcc-12", "-O2", 4, false),
        ("clang-19", "-O1", 5, true),
        ("clang-19", "-O2", 5, false),
        ("clang-14", "-O0", 4, false),
    ] {
        let image = debug_build(compiler, level, dwarf, SOURCE).image();
        let sites: Vec<Site> = image
            .statement_stops()
            .unwrap()
            .iter()
            .map(|stop| image.site(stop.pc, &SiteOptions::default()).unwrap())
            .collect();
        let symbols = [
            "counter",
            "value",
            "table",
            "pairs",
            "pointer",
            "gap",
            "odd",
            "ratio",
            "one",
            "after_the_gap",
        ];
        let bias = if pie { 0x5000_0000 } else { 0 };
        let data: Vec<(u64, u64)> = symbols
            .iter()
            .filter_map(|name| image.symbol(name))
            .map(|symbol| (symbol.address.loaded(bias).0, symbol.size.max(1)))
            .collect();
        assert!(data.len() >= 6, "{compiler} {level}: {data:?}");
        let machine = Changing {
            bytes: RefCell::default(),
            gone: RefCell::default(),
            bias,
        };
        let mut sight = Sight::default();
        let mut before: Vec<Observation> = Vec::new();
        let (mut told, mut carried, mut hiding) = (0, 0, 0);
        for step in 0..3000u64 {
            let mut numbers = Numbers(step * 2 + 77);
            for _ in 0..4 {
                numbers.below(2);
            }
            let context = format!("{compiler} {level}, step {step}");
            for _ in 0..numbers.below(4) {
                let (start, size) = data[numbers.below(data.len() as u64) as usize];
                let at = start + numbers.below(size);
                // now and then a pointer to something, so that pointers are more than opaque
                if numbers.below(3) == 0 {
                    let (target, _) = data[numbers.below(data.len() as u64) as usize];
                    for (place, byte) in (start..).zip(target.to_le_bytes()) {
                        machine.bytes.borrow_mut().insert(place, byte);
                    }
                } else {
                    machine
                        .bytes
                        .borrow_mut()
                        .insert(at, numbers.below(256) as u8);
                }
            }
            if numbers.below(40) == 0 {
                let (start, size) = data[numbers.below(data.len() as u64) as usize];
                machine
                    .gone
                    .borrow_mut()
                    .insert((start + numbers.below(size)) >> 8);
            } else if numbers.below(12) == 0 {
                machine.gone.borrow_mut().clear();
            }
            if numbers.below(30) == 0 {
                sight.look_away();
                assert!(sight.observations().is_empty());
                continue;
            }
            let site = &sites[numbers.below(sites.len() as u64) as usize];
            image.look(site, &machine, &mut sight);
            let mut anew = Vec::new();
            image.observe(site, &machine, &mut anew);
            assert_eq!(sight.observations(), anew, "{context}");
            let leaves = site.leaves();
            hiding += leaves.globals.iter().filter(|leaf| leaf.shadowed).count();
            let globals = &anew[leaves.own.len()..];
            match sight.changed() {
                Some(changed) => {
                    told += changed.len();
                    carried += globals.len() - changed.len();
                    for (place, (old, new)) in (0u32..).zip(before.iter().zip(globals)) {
                        assert!(old == new || changed.contains(&place), "{context}: {place}");
                    }
                    assert_eq!(before.len(), globals.len(), "{context}");
                }
                None => assert_eq!(
                    step,
                    step.min(40),
                    "{context}: the globals are always the same ones"
                ),
            }
            before = globals.to_vec();
        }
        assert!(
            told > 1000 && carried > 100 * told / 10,
            "{compiler} {level}: {told} {carried}"
        );
        assert!(
            hiding > 0,
            "{compiler} {level}: a local hides a global somewhere"
        );
    }
}

#[test]
fn another_bias_is_another_process() {
    let image = debug_build("clang-19", "-O1", 5, SOURCE).image();
    let stop = image.statement_stops().unwrap()[0].clone();
    let site = image.site(stop.pc, &SiteOptions::default()).unwrap();
    let at = image.symbol("value").unwrap().address;
    let mut sight = Sight::default();
    for (bias, expected) in [(0, 5), (0x1000_0000, 6), (0, 5)] {
        let machine = Changing {
            bytes: RefCell::default(),
            gone: RefCell::default(),
            bias,
        };
        machine
            .bytes
            .borrow_mut()
            .insert(Svma(at.0).loaded(bias).0, expected);
        image.look(&site, &machine, &mut sight);
        assert_eq!(sight.changed(), None);
        let index = support::index(&site, "value");
        let seen = sight.observations()[index].value().unwrap().to_string();
        assert_eq!(seen, expected.to_string());
    }
}

//! The evaluator against compiled C: millions of evaluations by gcc and by clang, and clang's UBSan on what is undefined.
//!
//! One C file holds a function per (operator, operand types); both sides draw the same values from the same generator and
//! fold the results into one hash per function. Where the evaluator says "undefined" a mark is folded instead: plain
//! builds are told where, the UBSan build has to find out by itself.

use std::fmt::Write as _;
use std::time::Duration;

use candor_mutate::integer::{Arithmetic, Binary, Scalar, Unary};
use candor_source::{IntegerKind, IntegerType};
use candor_toolchain::{Build, Built, Job, Limits, Stage};

use crate::bench::shared;

const FUNCTIONS: usize = 1200;
const ROWS: usize = 800;
const MARK: u64 = 0xdead_0bad_dead_0bad;

const CORNERS: [u64; 20] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    32767,
    65535,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
];

/// SplitMix64; the same lines are in the C text below.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn value(state: &mut u64) -> u64 {
    let r = draw(state);
    let v = if r & 1 == 1 {
        CORNERS[((r >> 8) % 20) as usize]
    } else {
        draw(state) >> ((r >> 8) & 63)
    };
    if r & 2 == 2 { v.wrapping_neg() } else { v }
}

const HEADER: &str = r#"
#include <stdio.h>
#include <setjmp.h>
typedef unsigned long long u64;
enum plain { PLAIN = 1 };
enum negative { NEGATIVE = -1 };
static jmp_buf back;
static const u64 corners[20] = { 0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255, 32767, 65535, 0x7fffffffULL,
  0x80000000ULL, 0xffffffffULL, 0x7fffffffffffffffULL, 0x8000000000000000ULL };
static u64 draw(u64 *s) { u64 z = (*s += 0x9e3779b97f4a7c15ULL); z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL; return z ^ (z >> 31); }
static u64 value(u64 *s) { u64 r = draw(s), v; if (r & 1) v = corners[(r >> 8) % 20]; else v = draw(s) >> ((r >> 8) & 63);
  return r & 2 ? 0 - v : v; }
#ifdef UBSAN
#define HANDLER(name) void __ubsan_handle_##name##_minimal(void) { longjmp(back, 1); }
HANDLER(add_overflow) HANDLER(sub_overflow) HANDLER(mul_overflow) HANDLER(negate_overflow) HANDLER(divrem_overflow)
HANDLER(shift_out_of_bounds) HANDLER(load_invalid_value)
#endif
"#;

const MAIN: &str = r"
static unsigned char defined[COUNT * ROWS / 8];
int main(void) {
  int i, j;
  if (fread(defined, 1, sizeof defined, stdin) != sizeof defined) return 2;
  for (i = 0; i < COUNT; i++) {
    u64 state = i, hash = 0;
    for (j = 0; j < ROWS; j++) {
      u64 a = value(&state), b = value(&state);
      volatile u64 r = MARK;
#ifdef UBSAN
      if (!setjmp(back)) r = table[i](a, b); else r = MARK;
#else
      int bit = i * ROWS + j;
      if (defined[bit / 8] >> (bit % 8) & 1) r = table[i](a, b);
#endif
      hash = (hash ^ r) * 0x100000001b3ULL; hash ^= hash >> 31;
    }
    printf(HEXFORMAT, hash);
  }
  return 0;
}
";

/// A type as the evaluator knows it, and what C calls it.
#[derive(Clone, Copy)]
struct Named {
    scalar: Scalar,
    name: &'static str,
}

/// The enumerations of the C text: on x86-64 `unsigned int` represents them, or `int` when there is a negative constant.
fn enumerations() -> Vec<Named> {
    let named = |name, kind, is_signed, width| {
        let integer = IntegerType {
            kind,
            bits: 32,
            is_signed,
            is_enum: true,
        };
        let scalar = Scalar::new(integer, width).unwrap();
        Named { scalar, name }
    };
    [None, Some(7), Some(32)]
        .into_iter()
        .flat_map(|width| {
            [
                named("enum plain", IntegerKind::UnsignedInt, false, width),
                named("enum negative", IntegerKind::Int, true, width),
            ]
        })
        .collect()
}

fn types() -> Vec<Named> {
    use IntegerKind::*;
    let plain = [
        (Bool, 8, false),
        (Char, 8, true),
        (SignedChar, 8, true),
        (UnsignedChar, 8, false),
        (Short, 16, true),
        (UnsignedShort, 16, false),
        (Int, 32, true),
        (UnsignedInt, 32, false),
        (Long, 64, true),
        (UnsignedLong, 64, false),
        (LongLong, 64, true),
        (UnsignedLongLong, 64, false),
    ];
    let scalar = |(kind, bits, is_signed), width| {
        let integer = IntegerType {
            kind,
            bits,
            is_signed,
            is_enum: false,
        };
        let scalar = Scalar::new(integer, width).unwrap();
        let name = kind.c_name();
        Named { scalar, name }
    };
    let fields = [
        ((Bool, 8, false), 1),
        ((UnsignedInt, 32, false), 1),
        ((Int, 32, true), 7),
        ((UnsignedInt, 32, false), 31),
        ((UnsignedInt, 32, false), 32),
        ((Int, 32, true), 32),
        ((UnsignedLong, 64, false), 20),
        ((Long, 64, true), 32),
        ((UnsignedLong, 64, false), 40),
        ((Long, 64, true), 50),
    ];
    let mut all: Vec<Named> = plain.into_iter().map(|p| scalar(p, None)).collect();
    all.extend(fields.into_iter().map(|(p, width)| scalar(p, Some(width))));
    all.extend(enumerations());
    all
}

#[derive(Clone, Copy)]
enum Operation {
    Unary(Unary),
    Binary(Binary),
    /// Conversion on assignment: of the left operand to the right one's type.
    Assign,
}

struct Function {
    operation: Operation,
    left: Named,
    right: Named,
}

/// `T x = raw` and the text that reads it.
fn operand(name: &str, ty: Named, raw: &str) -> (String, String) {
    let Named { scalar, name: c } = ty;
    match scalar.bit_field {
        None => (format!("{c} {name} = {raw};"), name.to_owned()),
        Some(width) => {
            let declare = format!("struct {{ {c} f : {width}; }} {name}; {name}.f = {raw};");
            let read = if scalar.needs_cast() {
                format!("(({c}){name}.f)")
            } else {
                format!("{name}.f")
            };
            (declare, read)
        }
    }
}

impl Function {
    fn text(&self, index: usize) -> String {
        let (x, read_x) = operand("x", self.left, "a");
        let (y, read_y) = operand("y", self.right, "b");
        let body = match self.operation {
            Operation::Unary(op) => format!("return (u64)({}{read_x});", op.symbol()),
            Operation::Binary(op) => format!("return (u64)({read_x} {} {read_y});", op.symbol()),
            Operation::Assign => {
                let target = if self.right.scalar.bit_field.is_some() {
                    "y.f"
                } else {
                    "y"
                };
                format!("{target} = {read_x}; return (u64){read_y};")
            }
        };
        format!("static u64 f{index}(u64 a, u64 b) {{ {x} {y} {body} }}\n")
    }

    fn evaluate(&self, a: u64, b: u64) -> Option<u64> {
        let (x, y) = (
            self.left.scalar.store(a.into()),
            self.right.scalar.store(b.into()),
        );
        let (left, right) = (self.left.scalar.read(), self.right.scalar.read());
        let result = match self.operation {
            Operation::Unary(op) => op.apply(left, x)?,
            Operation::Binary(op) => op.apply((left, x), (right, y))?,
            Operation::Assign => self.right.scalar.store(x),
        };
        Some(Arithmetic::unsigned(64).convert(result) as u64)
    }
}

fn functions(seed: u64) -> Vec<Function> {
    let types = types();
    let mut random = fastrand::Rng::with_seed(seed);
    (0..FUNCTIONS)
        .map(|index| {
            let operation = match index % 24 {
                n @ 0..18 => Operation::Binary(Binary::ALL[n]),
                n @ 18..21 => Operation::Unary(Unary::ALL[n - 18]),
                _ => Operation::Assign,
            };
            Function {
                operation,
                left: *random.choice(&types).unwrap(),
                right: *random.choice(&types).unwrap(),
            }
        })
        .collect()
}

fn run(text: &str, compiler: &str, flags: &[&str], stdin: &[u8]) -> Vec<u64> {
    let shared = shared();
    let compiler = shared
        .compilers
        .iter()
        .find(|c| c.name == compiler)
        .unwrap();
    let directory = shared.scratch.job().unwrap();
    directory.write("t.c", text).unwrap();
    let make = |stage, input: &str, flags: &[&str], output: &str| {
        let build = Build {
            compiler,
            stage,
            inputs: vec![input.into()],
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            output: output.into(),
        };
        build
            .run(&shared.sandbox, directory.path(), &Limits::compiler())
            .unwrap()
    };
    // Linked without the sanitizer's flags: its handlers are the file's own.
    let object = make(Stage::Object, "t.c", flags, "t.o");
    assert!(matches!(object, Built::Ok { .. }), "{}", object.describe());
    let built = make(Stage::Executable, "t.o", &[], "t");
    let Built::Ok { artefact, .. } = &built else {
        panic!("{compiler}: {}", built.describe())
    };
    let job = Job::new(artefact, directory.path()).stdin(stdin);
    let limits = Limits::program().with_time(Duration::from_secs(60));
    let run = shared.sandbox.run(&job, &limits).unwrap();
    assert!(run.ending.success(), "{compiler}: {}", run.ending);
    let lines = run.stdout_text();
    lines
        .lines()
        .map(|line| u64::from_str_radix(line, 16).unwrap())
        .collect()
}

#[test]
fn the_evaluator_agrees_with_compiled_c_and_with_ubsan() {
    let seed = 4;
    let functions = functions(seed);
    let mut text = HEADER.to_owned();
    let mut defined = vec![0_u8; FUNCTIONS * ROWS / 8];
    let mut expected = Vec::new();
    let mut undefined = 0_u64;
    for (index, function) in functions.iter().enumerate() {
        text += &function.text(index);
        let mut state = index as u64;
        let mut hash = 0_u64;
        for row in 0..ROWS {
            let (a, b) = (value(&mut state), value(&mut state));
            let result = function.evaluate(a, b);
            let bit = index * ROWS + row;
            defined[bit / 8] |= u8::from(result.is_some()) << (bit % 8);
            undefined += u64::from(result.is_none());
            hash = (hash ^ result.unwrap_or(MARK)).wrapping_mul(0x0100_0000_01b3);
            hash ^= hash >> 31;
        }
        expected.push(hash);
    }
    let names: Vec<String> = (0..FUNCTIONS).map(|index| format!("f{index}")).collect();
    writeln!(
        text,
        "static u64 (*table[])(u64, u64) = {{ {} }};",
        names.join(", ")
    )
    .unwrap();
    text += &MAIN
        .replace("COUNT", &FUNCTIONS.to_string())
        .replace("ROWS", &ROWS.to_string())
        .replace("MARK", &format!("{MARK}ULL"))
        .replace("HEXFORMAT", "\"%llx\\n\"");

    let all = FUNCTIONS as u64 * ROWS as u64;
    assert!(
        undefined > all / 50 && undefined < all / 2,
        "{undefined} of {all} undefined"
    );
    let ubsan = [
        "-O0",
        "-w",
        "-DUBSAN",
        "-fsanitize=integer-divide-by-zero,shift,signed-integer-overflow",
        "-fsanitize-minimal-runtime",
    ];
    let builds: [(&str, &[&str]); 3] = [
        ("gcc-12", &["-O0", "-w"]),
        ("clang-19", &["-O0", "-w"]),
        ("clang-19", &ubsan),
    ];
    for (compiler, flags) in builds {
        let found = run(&text, compiler, flags, &defined);
        assert_eq!(found.len(), FUNCTIONS);
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(
                found,
                expected,
                "seed {seed}, {compiler} {flags:?}: {}",
                functions[index].text(index)
            );
        }
    }
}

/// Why wide bit-fields are only read through a cast.
#[test]
fn gcc_and_clang_disagree_on_wide_bit_fields_without_the_cast() {
    let text = |read: &str| {
        format!(
            "#include <stdio.h>\nstruct {{ unsigned long f : 40; }} x;\nint main(void) {{ x.f = 0xffffffffffUL; \
             printf(\"%x\\n\", {read} + 1 == 0); return 0; }}\n"
        )
    };
    let bare: Vec<_> = ["gcc-12", "clang-19"]
        .map(|c| run(&text("x.f"), c, &["-O0"], &[]))
        .into();
    assert_ne!(bare[0], bare[1], "the rule has become unnecessary");
    let wide = types().into_iter().find(|t| t.scalar.needs_cast()).unwrap();
    assert_eq!(wide.scalar.bit_field, Some(40));
    let cast = text("((unsigned long)x.f)");
    let cast: Vec<_> = ["gcc-12", "clang-19"]
        .map(|c| run(&cast, c, &["-O0"], &[]))
        .into();
    assert_eq!(cast[0], cast[1]);
}

//! Scopes, keys, layouts and lines of real builds.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use candor_dwarf::{
    Error, LeafKey, Line, LocationKind, Observation, Omission, PointerValue, ScalarKind,
    SiteOptions, Svma, Value,
};
use object::{Object as _, ObjectSection as _};
use support::{
    Anything, Fake, body_of, build, debug_build, index, leaf, line_of, observe, site, stop_on,
};

const COMPILERS: [(&str, u8); 8] = [
    ("gcc-11", 4),
    ("gcc-11", 5),
    ("gcc-12", 4),
    ("gcc-12", 5),
    ("clang-14", 4),
    ("clang-16", 5),
    ("clang-19", 4),
    ("clang-19", 5),
];

const TYPES: &str = r#"
typedef const volatile int alias;
enum plain { A, B };
enum negative { C = -1, D };
struct bits { unsigned a : 3; int b : 7; unsigned long long c : 33; _Bool d : 1; int : 4; int e; };
struct anonymous { int x; struct { char y; short z[2]; }; union { int u; float v; }; };
struct node { struct node *next; void (*call)(void); };
union whole { int i; char c[4]; };
union longer { int short_one; long long_one; };
union pointed { int *pointer; long number; };
struct flexible { int n; int rest[]; };
alias an_int = -3;
enum plain plain_enum = B;
enum negative negative_enum = C;
struct bits bits = {5, -6, 0x1ffffffffULL, 1, -9};
struct anonymous anonymous = {1, {2, {3, 4}}, {5}};
struct node node;
union whole whole;
union longer longer;
union pointed pointed;
struct flexible flexible = {3};
int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
char letters[5] = "abcd";
unsigned char byte = 200;
_Bool yes = 1;
float single = 1.5f;
double many[2] = {2.5, -1.0};
long double extended = 0.1L;
__int128 wide = -1;
_Complex double complex_number;
struct bits pair[2];
int big[1000];
int vla_user(int n) { int vla[n]; int after = n; vla[0] = after; return vla[0]; }
int main(void) { int local = an_int; return local + yes; }
"#;

#[test]
fn types_are_flattened_to_scalars() {
    for (compiler, dwarf) in COMPILERS {
        let built = debug_build(compiler, "-O0", dwarf, TYPES);
        let image = built.image();
        let site = image
            .site(
                body_of(&image, "main"),
                &SiteOptions {
                    leaf_cap: 6,
                    ..SiteOptions::default()
                },
            )
            .unwrap();
        let context = format!("{compiler} dwarf {dwarf}");
        let shape = |name: &str| {
            let leaf = leaf(&site, name);
            (leaf.kind, leaf.signed, leaf.bit_offset, leaf.bit_size)
        };
        use ScalarKind::{Bool, Char, Enum, Float, Pointer, Signed, Unsigned};
        for (name, expected) in [
            ("an_int", (Signed, true, 0, 32)),
            ("plain_enum", (Enum, false, 0, 32)),
            ("negative_enum", (Enum, true, 0, 32)),
            ("bits.a", (Unsigned, false, 0, 3)),
            ("bits.b", (Signed, true, 3, 7)),
            ("bits.c", (Unsigned, false, 10, 33)),
            ("bits.d", (Bool, false, 43, 1)),
            ("bits.e", (Signed, true, 64, 32)),
            ("anonymous.y", (Char, true, 32, 8)),
            ("anonymous.z[1]", (Signed, true, 64, 16)),
            ("node.next", (Pointer, false, 0, 64)),
            ("node.call", (Pointer, false, 64, 64)),
            ("flexible.n", (Signed, true, 0, 32)),
            ("matrix[1][2]", (Signed, true, 160, 32)),
            ("letters[4]", (Char, true, 32, 8)),
            ("byte", (Char, false, 0, 8)),
            ("yes", (Bool, false, 0, 8)),
            ("single", (Float, false, 0, 32)),
            ("many[1]", (Float, false, 64, 64)),
            ("extended", (Float, false, 0, 80)),
            ("wide", (Signed, true, 0, 128)),
            ("pair[1].a", (Unsigned, false, 128, 3)),
            ("whole.i", (Signed, true, 0, 32)),
            ("whole.c[3]", (Char, true, 24, 8)),
            ("anonymous.v", (Float, false, 96, 32)),
            ("longer.short_one", (Signed, true, 0, 32)),
            ("__real__ complex_number", (Float, false, 0, 64)),
            ("__imag__ complex_number", (Float, false, 64, 64)),
        ] {
            assert_eq!(shape(name), expected, "{context}: {name}");
        }
        let names: BTreeSet<String> = site
            .leaves()
            .iter()
            .map(|leaf| leaf.key.to_string())
            .collect();
        for absent in [
            "whole",
            "longer.long_one",
            "pointed.number",
            "complex_number",
            "flexible.rest[0]",
            "big[6]",
        ] {
            assert!(!names.contains(absent), "{context}: {absent}");
        }
        assert!(
            names.contains("big[5]"),
            "{context}: the cap cuts an array short"
        );
        let reasons: BTreeSet<(&str, Omission)> = site
            .omitted_globals()
            .iter()
            .flat_map(|omitted| omitted.reasons.iter().map(|why| (&*omitted.variable, *why)))
            .collect();
        let expected = [
            ("longer", Omission::UnionPart),
            ("pointed", Omission::UnionPart),
            ("big", Omission::ElementsBeyondLimit),
            ("pair", Omission::ElementsBeyondLimit),
        ];
        assert_eq!(reasons, expected.into(), "{context}");
        // Of a variable-length array there are as many elements as are wanted; some of them may not exist.
        let vla = support::site(&image, body_of(&image, "vla_user"));
        let names: Vec<String> = vla
            .leaves()
            .iter()
            .map(|leaf| leaf.key.to_string())
            .collect();
        assert!(
            ["after", "vla[0]", "vla[63]"]
                .iter()
                .all(|name| names.contains(&(*name).to_owned())),
            "{context}: {names:?}"
        );
        assert!(!names.contains(&"vla[64]".into()), "{context}");
    }
}

#[test]
fn static_data_is_read_through_the_layout() {
    for (compiler, dwarf) in COMPILERS {
        let built = debug_build(compiler, "-O0", dwarf, TYPES);
        let image = built.image();
        // The initialised data as the file has it: what a process has before it starts.
        let bytes = built.bytes();
        let file = object_data(&bytes);
        let machine = Fake {
            memory: file,
            ..Fake::default()
        };
        let site = site(&image, body_of(&image, "main"));
        let seen = |name: &str| observe(&image, &site, &machine, name);
        let signed = |value| Observation::Value(Value::Signed(value));
        let unsigned = |value| Observation::Value(Value::Unsigned(value));
        for (name, expected) in [
            ("an_int", signed(-3)),
            ("plain_enum", unsigned(1)),
            ("negative_enum", signed(-1)),
            ("bits.a", unsigned(5)),
            ("bits.b", signed(-6)),
            ("bits.c", unsigned(0x1_ffff_ffff)),
            ("bits.d", unsigned(1)),
            ("bits.e", signed(-9)),
            ("anonymous.z[1]", signed(4)),
            ("matrix[1][0]", signed(4)),
            ("letters[3]", signed(i128::from(b'd'))),
            ("byte", unsigned(200)),
            ("yes", unsigned(1)),
            (
                "many[1]",
                Observation::Value(Value::Float {
                    bits: (-1.0f64).to_bits().into(),
                    size: 8,
                }),
            ),
            (
                "extended",
                Observation::Value(Value::Float {
                    bits: 0x3ffb_cccc_cccc_cccc_cccd,
                    size: 16,
                }),
            ),
            ("wide", signed(-1)),
        ] {
            assert_eq!(seen(name), expected, "{compiler} dwarf {dwarf}: {name}");
        }
    }
}

/// The sections of a program that are loaded from the file.
fn object_data(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let word = |at: usize, size: usize| {
        bytes[at..at + size]
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let (start, count) = (word(32, 8) as usize, word(56, 2) as usize);
    let headers = (0..count).map(|index| start + index * 56);
    let loaded = headers.filter(|at| word(*at, 4) == 1);
    loaded
        .map(|at| {
            (
                word(at + 16, 8),
                bytes[word(at + 8, 8) as usize..][..word(at + 32, 8) as usize].to_vec(),
            )
        })
        .collect()
}

const SCOPES: &str = r#"
int counter;
__attribute__((noinline)) void stop(void) { __asm__ volatile("" ::: "memory"); }
static inline __attribute__((always_inline)) int helper(int n) {
  int doubled = n * 2;
  stop(); /* in helper */
  return doubled + n;
}
int work(int x) {
  static int calls = 3;
  int value = x + 1;
  {
    int value = x * 5;
    stop(); /* inner */
    counter += value;
  }
  stop(); /* outer */
  calls += helper(value);
  return calls;
}
int main(int argc, char **argv) { return work(argc); }
"#;

#[test]
fn scopes_shadowing_and_keys() {
    for (compiler, dwarf) in COMPILERS {
        for level in ["-O0", "-O1", "-O2"] {
            let built = debug_build(compiler, level, dwarf, SCOPES);
            let image = built.image();
            let context = format!("{compiler} {level} dwarf {dwarf}");
            let inner = site(&image, stop_on(&image, line_of(SCOPES, "/* inner */")));
            assert_eq!(inner.function, "work", "{context}");
            let values: Vec<_> = inner
                .leaves()
                .iter()
                .filter(|leaf| &*leaf.key.variable == "value")
                .collect();
            let lines: Vec<u32> = values.iter().map(|leaf| leaf.key.decl_line.0).collect();
            assert_eq!(
                lines,
                [line_of(SCOPES, "x * 5"), line_of(SCOPES, "x + 1")],
                "{context}: innermost first"
            );
            assert_eq!(
                values.iter().map(|leaf| leaf.shadowed).collect::<Vec<_>>(),
                [false, true],
                "{context}"
            );
            // gcc moves parts of the inlined function to this line: take the part that is the caller's.
            let line = Line(line_of(SCOPES, "/* outer */"));
            let work = image.symbol("work").unwrap();
            let on_line = |pc: &Svma| {
                image
                    .line_at(*pc)
                    .unwrap()
                    .is_some_and(|row| row.line == Some(line))
            };
            let mut pcs = (work.address.0..work.address.0 + work.size)
                .map(Svma)
                .filter(on_line)
                .map(|pc| site(&image, pc));
            let outer = pcs
                .find(|site| site.function == "work")
                .unwrap_or_else(|| panic!("{context}"));
            assert_eq!(outer.line, Some(line), "{context}");
            let key = |variable: &str, function: Option<&str>, line: u32| LeafKey {
                function: function.map(Into::into),
                variable: variable.into(),
                decl_line: Line(line),
                path: "".into(),
                depth: 0,
            };
            assert_eq!(
                leaf(&outer, "calls").key,
                key("calls", Some("work"), line_of(SCOPES, "static int calls")),
                "{context}"
            );
            assert_eq!(
                leaf(&outer, "counter").key,
                key("counter", None, 2),
                "{context}"
            );
            assert!(leaf(&outer, "x").parameter && !leaf(&outer, "value").parameter);
            let mut keys = BTreeSet::new();
            assert!(
                outer
                    .leaves()
                    .iter()
                    .all(|leaf| keys.insert(leaf.key.clone())),
                "{context}: keys are unique"
            );
        }
    }
}

#[test]
fn inlined_functions_have_their_own_variables() {
    for (compiler, dwarf) in COMPILERS {
        let built = debug_build(compiler, "-O2", dwarf, SCOPES);
        let image = built.image();
        let context = format!("{compiler} dwarf {dwarf}");
        let stops = image.statement_stops().unwrap();
        let line = line_of(SCOPES, "/* in helper */");
        let pcs: Vec<Svma> = stops
            .iter()
            .filter(|stop| stop.line.0 == line)
            .map(|stop| stop.pc)
            .collect();
        let pc = *pcs
            .iter()
            .find(|pc| image.site(**pc, &SiteOptions::default()).unwrap().function == "helper")
            .unwrap_or_else(|| panic!("{context}"));
        let alone = site(&image, pc);
        let functions: BTreeSet<_> = alone
            .leaves()
            .iter()
            .filter_map(|leaf| leaf.key.function.as_deref())
            .collect();
        assert_eq!(functions, ["helper"].into(), "{context}");
        let all = image
            .site(
                pc,
                &SiteOptions {
                    all_frames: true,
                    ..SiteOptions::default()
                },
            )
            .unwrap();
        let depth_of = |name: &str| {
            all.leaves()
                .iter()
                .find(|leaf| &*leaf.key.variable == name)
                .map(|leaf| leaf.key.depth)
        };
        assert_eq!(depth_of("doubled"), Some(0), "{context}");
        // work itself is inlined into main by some of the compilers: one or more frames out.
        assert!(
            depth_of("calls").is_some_and(|depth| depth >= 1),
            "{context}"
        );
        let helper = image
            .functions()
            .unwrap()
            .into_iter()
            .find(|function| &*function.name == "helper")
            .unwrap();
        assert!(
            helper.inlined >= 1 && helper.ranges.is_empty(),
            "{context}: {helper:?}"
        );
        assert_eq!(
            helper.decl_line,
            Some(Line(line_of(SCOPES, "int helper"))),
            "{context}"
        );
    }
}

#[test]
fn a_variable_of_the_abstract_instance_alone_is_optimised_out() {
    let source = r#"
volatile int sink;
static inline __attribute__((always_inline)) int unused(int n) {
  int nothing = __builtin_bswap32(n) % 7;
  sink = n;
  return n;
}
int main(int argc, char **argv) { return unused(argc) + unused(3); }
"#;
    let mut seen = 0;
    for compiler in ["gcc-12", "clang-16", "clang-19"] {
        let built = debug_build(compiler, "-O2", 5, source);
        let image = built.image();
        for stop in image.statement_stops().unwrap() {
            let site = site(&image, stop.pc);
            if site.function != "unused" {
                continue;
            }
            let found = site
                .leaves()
                .iter()
                .position(|leaf| &*leaf.key.variable == "nothing");
            // Some versions keep a value for it, all keep it known.
            let index = found.unwrap_or_else(|| panic!("{compiler}: {:?}", site.leaves()));
            let mut out = Vec::new();
            image.observe(&site, &Fake::default(), &mut out);
            seen += usize::from(out[index] == Observation::OptimisedOut);
        }
    }
    assert!(seen > 0);
}

#[test]
fn stops_are_the_users_statements() {
    let source = "#include <stdlib.h>\n#include <ctype.h>\nint main(int argc, char **argv) {\n  int a = atoi(argv[0]);\n  a += toupper(a);\n  return a;\n}\n";
    for (compiler, dwarf) in COMPILERS {
        for level in ["-O0", "-O2"] {
            let image = debug_build(compiler, level, dwarf, source).image();
            let stops = image.statement_stops().unwrap();
            let context = format!("{compiler} {level} dwarf {dwarf}: {stops:?}");
            assert!(
                stops.len() >= if level == "-O0" { 3 } else { 1 },
                "{context}"
            );
            assert!(
                stops.windows(2).all(|pair| pair[0].pc < pair[1].pc),
                "{context}"
            );
            assert!(stops.iter().all(|stop| stop.file.ends_with("/program.c") && (3..=7).contains(&stop.line.0)), "{context}");
            for stop in &stops {
                let row = image.line_at(stop.pc).unwrap().unwrap();
                assert!(row.pc <= stop.pc && !row.file.is_empty(), "{context}");
                assert!(
                    image.site(stop.pc, &SiteOptions::default()).is_ok(),
                    "{context}"
                );
            }
            assert_eq!(image.line_at(Svma(1)).unwrap(), None);
            assert!(matches!(
                image.site(Svma(1), &SiteOptions::default()),
                Err(Error::NoFunction { .. })
            ));
            assert!(
                matches!(
                    image.site(image.entry(), &SiteOptions::default()),
                    Err(Error::NoFunction { .. })
                ),
                "no debug information for _start"
            );
        }
    }
}

#[test]
fn a_location_can_be_falsified_in_the_file() {
    let source = "volatile int sink;\nint main(int argc, char **argv) {\n  int fixed = 7;\n  sink = argc;\n  sink = fixed;\n  return 0;\n}\n";
    for (compiler, level, dwarf) in [
        ("gcc-12", "-O0", 5),
        ("gcc-12", "-O2", 5),
        ("gcc-12", "-O2", 4),
        ("clang-16", "-O2", 5),
        ("clang-19", "-O2", 4),
    ] {
        let built = debug_build(compiler, level, dwarf, source);
        let image = built.image();
        let spans = image.location_spans("main", "fixed").unwrap();
        let context = format!("{compiler} {level} dwarf {dwarf}: {spans:?}");
        assert!(!spans.is_empty(), "{context}");
        let site_at = |image: &candor_dwarf::Image| site(image, stop_on(image, 5));
        let before = observe(&image, &site_at(&image), &Anything, "fixed");
        let mut bytes = built.bytes();
        for span in &spans {
            assert!(span.pc.start < span.pc.end && span.len > 0, "{context}");
            // The last byte is the number in DW_OP_fbreg and const values, the one before it in DW_OP_litN, DW_OP_stack_value.
            let last = (span.file_offset + span.len - 1) as usize;
            let at = if bytes[last] == 0x9f { last - 1 } else { last };
            bytes[if span.kind == LocationKind::ConstValue {
                span.file_offset as usize
            } else {
                at
            }] ^= 1;
        }
        let changed = candor_dwarf::Image::from_bytes(bytes).unwrap();
        let after = observe(&changed, &site_at(&changed), &Anything, "fixed");
        assert!(
            matches!(before, Observation::Value(_)),
            "{context}: {before:?}"
        );
        assert_ne!(before, after, "{context}");
        assert!(
            !image
                .describe_location(&site_at(&image), index(&site_at(&image), "fixed"))
                .is_empty()
        );
        assert!(matches!(
            image.location_spans("main", "absent"),
            Err(Error::Unknown { .. })
        ));
    }
}

#[test]
fn pointers_are_named_by_the_source() {
    let source = "int first[2] = {1, 2};\nint second = 3;\nint *inside = &first[1];\nint *none = 0;\nint (*code)(void);\nint f(void) { static int hidden = 1; inside = &hidden; return 0; }\nint main(void) { int *local = inside; return *local; }\n";
    for compiler in ["gcc-12", "clang-19"] {
        let built = debug_build(compiler, "-O0", 5, source);
        let image = built.image();
        let site = site(&image, body_of(&image, "main"));
        let inside = image.symbol("inside").unwrap().address.0;
        let see = |target: u64| {
            let machine = Fake {
                memory: vec![(inside, target.to_le_bytes().to_vec())],
                ..Fake::default()
            };
            match observe(&image, &site, &machine, "inside") {
                Observation::Value(Value::Pointer(pointer)) => pointer,
                other => panic!("{other:?}"),
            }
        };
        let address = |name: &str| image.symbol(name).unwrap().address.0;
        assert_eq!(see(0), PointerValue::Null);
        assert_eq!(see(0x7fff_1234), PointerValue::Opaque(0x7fff_1234));
        assert_eq!(see(address("first") + 4).to_string(), "&first+4");
        assert_eq!(see(address("f")).to_string(), "&f");
        let hidden = if compiler == "gcc-12" {
            "hidden.0"
        } else {
            "f.hidden"
        };
        assert!(
            matches!(see(address(hidden)), PointerValue::Symbol { name, derived: true, .. } if &*name == "hidden")
        );
        // The end of one array may be the start of the next variable; such pointers agree with either.
        let end = see(address("first") + 8);
        let named = PointerValue::Symbol {
            name: "first".into(),
            offset: 8,
            derived: false,
            end_of: None,
        };
        assert_eq!(end.agrees(&named), Some(true), "{end:?}");
        assert_eq!(see(address("first")).agrees(&named), Some(false));
        assert_eq!(see(0).agrees(&see(0x7fff_0000)), Some(false));
        assert_eq!(see(0x7fff_0000).agrees(&see(0x7fff_0008)), None);
    }
}

/// As in zlib: strings lie right behind tables, where their addresses are the ends of those tables, too.
#[test]
fn pointers_to_literals_are_known_by_their_bytes() {
    let source = "static const unsigned short order[19] = {16, 17, 18};\nconst char *version = \"1.3.2\";\nconst char *message = \"need dictionary\";\nconst int *made = (const int[]){7, 8};\nconst unsigned short *inside = &order[2];\nint main(void) {\n  int r = version[order[3]] + *made;\n  version++;\n  return r + *inside;\n}\n";
    let see = |compiler: &str, level: &str, name: &str| {
        let built = debug_build(compiler, level, 5, source);
        let image = built.image();
        let site = site(&image, body_of(&image, "main"));
        let address = image.symbol(name).unwrap().address.0;
        let data = built.bytes();
        let file = object::File::parse(&*data).unwrap();
        let value = file.sections().find_map(|section| {
            let found = section.data_range(address, 8).ok()??;
            (section.kind() == object::SectionKind::Data).then(|| found.to_vec())
        });
        let machine = Fake {
            memory: vec![(address, value.unwrap())],
            ..Fake::default()
        };
        match observe(&image, &site, &machine, name) {
            Observation::Value(Value::Pointer(pointer)) => pointer,
            other => panic!("{other:?}"),
        }
    };
    let builds = [
        ("gcc-12", "-O0"),
        ("gcc-12", "-O2"),
        ("clang-19", "-O0"),
        ("clang-19", "-O2"),
    ];
    for (compiler, level) in builds {
        for (name, shown) in [
            ("version", "\"1.3.2\""),
            ("message", "\"need dictionary\""),
            ("inside", "&order+4"),
        ] {
            let seen = see(compiler, level, name);
            assert_eq!(seen.to_string(), shown, "{compiler} {level}");
            assert_eq!(seen.agrees(&see("gcc-12", "-O0", name)), Some(true));
        }
        let (version, message) = (
            see(compiler, level, "version"),
            see("clang-19", "-O0", "message"),
        );
        assert_ne!(version.agrees(&message), Some(true));
        let made = see(compiler, level, "made");
        assert_ne!(
            made.agrees(&see("gcc-12", "-O0", "made")),
            Some(false),
            "{compiler} {level}: {made}"
        );
    }
}

#[test]
fn debug_types_in_their_own_units_and_link_time_optimisation() {
    for flags in [
        ["-g", "-fdebug-types-section", "-gdwarf-4", "-O0"],
        ["-g", "-fdebug-types-section", "-gdwarf-5", "-O0"],
        ["-g", "-flto", "-gdwarf-5", "-O1"],
    ] {
        let mut all = flags.to_vec();
        all.push("-no-pie");
        let image = build("gcc-12", &all, TYPES).image();
        let stops = image.statement_stops().unwrap();
        let site = stops
            .iter()
            .map(|stop| site(&image, stop.pc))
            .find(|site| site.function == "main")
            .unwrap_or_else(|| panic!("{flags:?}"));
        let names: BTreeSet<String> = site
            .leaves()
            .iter()
            .map(|leaf| leaf.key.to_string())
            .collect();
        assert!(names.contains("local"), "{flags:?}: {names:?}");
        assert!(
            flags.contains(&"-flto") || names.contains("bits.e"),
            "{flags:?}: {names:?}"
        );
    }
}

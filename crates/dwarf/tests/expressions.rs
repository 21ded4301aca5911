//! Every DWARF operation by itself: hand-assembled units whose variables have the expressions under test, evaluated on a
//! made-up machine.

#![allow(clippy::unwrap_used)]

mod support;

use std::fmt::Write;

use candor_dwarf::{Image, Observation, PointerValue, SiteOptions, Svma, Value};
use support::{Fake, build};

/// The base address of the made-up stack.
const STACK: u64 = 0x7000_0000;
const FS: u64 = 0x6000_0000;

/// A variable: name, label of its type, and its location in assembler directives.
struct Variable<'a>(&'a str, &'a str, &'a str);

/// An assembly file with one unit: `f`, called from `g`, has the variables.
fn assemble(variables: &[Variable<'_>], constants: &[(&str, &str, &str, &str)]) -> Image {
    let mut source = String::from(
        r#"
        .text
        .globl _start, f, g, target
_start: hlt
f:      .cfi_startproc
        push %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
.Lf_pc: nop
        pop %rbx
        ret
        .cfi_endproc
.Lf_end:
g:      .cfi_startproc
        sub $8, %rsp
        .cfi_adjust_cfa_offset 8
        call f
.Lreturn:
        call g
.Lreturn2:
        ret
        .cfi_endproc
.Lg_end:
        .data
        .size target, 8
        .type target, @object
target: .quad 77
        .section .tbss,"awT",@nobits
        .balign 16
        .zero 40
        .section .debug_abbrev
        .macro abbrev code, tag, children
        .uleb128 \code
        .uleb128 \tag
        .byte \children
        .endm
        .macro attribute name, form
        .uleb128 \name
        .uleb128 \form
        .endm
        .macro done
        .byte 0, 0
        .endm
        abbrev 1, 0x11, 1 ; attribute 3, 8 ; attribute 0x11, 1 ; attribute 0x12, 7 ; attribute 0x73, 0x17 ; done
        abbrev 2, 0x24, 0 ; attribute 3, 8 ; attribute 0x3e, 0xb ; attribute 0xb, 0xb ; done
        abbrev 3, 0x2e, 1 ; attribute 3, 8 ; attribute 0x11, 1 ; attribute 0x12, 7 ; attribute 0x40, 0x18 ; done
        abbrev 4, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 2, 0x18 ; done
        abbrev 5, 0x0f, 0 ; attribute 0x49, 0x13 ; done
        abbrev 6, 1, 1 ; attribute 0x49, 0x13 ; done
        abbrev 7, 0x21, 0 ; attribute 0x37, 0xb ; done
        abbrev 8, 0x48, 1 ; attribute 0x7d, 1 ; attribute 0x7f, 0x13 ; done
        abbrev 9, 0x49, 0 ; attribute 2, 0x18 ; attribute 0x7e, 0x18 ; done
        abbrev 10, 0x49, 0 ; attribute 0x80, 0x13 ; attribute 0x7e, 0x18 ; done
        abbrev 11, 5, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; done
        abbrev 12, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; done
        abbrev 13, 0x16, 0 ; attribute 0x49, 0x13 ; done
        abbrev 14, 0x13, 1 ; attribute 0xb, 0xb ; done
        abbrev 15, 0xd, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x38, 0xb ; done
        abbrev 20, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 0xb ; done
        abbrev 21, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 5 ; done
        abbrev 22, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 6 ; done
        abbrev 23, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 7 ; done
        abbrev 24, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 0xd ; done
        abbrev 25, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 0xf ; done
        abbrev 26, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 0xa ; done
        abbrev 27, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 8 ; done
        abbrev 28, 0x34, 0 ; attribute 3, 8 ; attribute 0x49, 0x13 ; attribute 0x1c, 1 ; done
        .byte 0
        .section .debug_addr
        .4byte 20
        .2byte 5
        .byte 8, 0
.Laddr: .8byte target, 1234
        .section .debug_info
.Lcu:   .4byte .Lcu_end - .Lcu_start
.Lcu_start:
        .2byte 5
        .byte 1, 8
        .4byte .debug_abbrev
        .macro base label, name, encoding, size
\label: .uleb128 2
        .asciz "\name"
        .byte \encoding, \size
        .endm
        .uleb128 1
        .asciz "t.c"
        .8byte f, .Lg_end - f
        .4byte .Laddr
        base .Lint, int, 5, 4
        base .Lu16, u16, 7, 2
        base .Lu32, u32, 7, 4
        base .Lu8, u8, 8, 1
        base .Li64, long, 5, 8
        base .Lu64, ulong, 7, 8
        base .Li128, i128, 5, 16
        base .Lfloat, float, 4, 4
        base .Ldouble, double, 4, 8
.Lpointer:
        .uleb128 5
        .4byte .Lint - .Lcu
.Larray:
        .uleb128 6
        .4byte .Lint - .Lcu
        .uleb128 7
        .byte 4
        .byte 0
.Lchars:
        .uleb128 6
        .4byte .Lu8 - .Lcu
        .uleb128 7
        .byte 4
        .byte 0
.Lcircle:
        .uleb128 13
        .4byte .Lcircle - .Lcu
.Lnest: .uleb128 14
        .byte 4
        .uleb128 15
        .asciz "me"
        .4byte .Lnest - .Lcu
        .byte 0
        .uleb128 15
        .asciz "me_too"
        .4byte .Lnest - .Lcu
        .byte 0
        .byte 0
.Lhuge: .uleb128 6
        .4byte .Lhuge2 - .Lcu
        .uleb128 7
        .byte 255
        .byte 0
.Lhuge2:
        .uleb128 6
        .4byte .Lhuge - .Lcu
        .uleb128 7
        .byte 255
        .byte 0
.Lf_die:
        .uleb128 3
        .asciz "f"
        .8byte f, .Lf_end - f
        .uleb128 1
        .byte 0x9c
.Lremoved:
        .uleb128 11
        .asciz "removed"
        .4byte .Lint - .Lcu
.Lcallee:
        .uleb128 4
        .asciz "callee"
        .4byte .Lint - .Lcu
        .uleb128 1
        .byte 0x35
.Lstatic:
        .uleb128 4
        .asciz "fixed"
        .4byte .Lint - .Lcu
        .uleb128 9
        .byte 3
        .8byte target
"#,
    );
    // The expressions are bytes between labels, for the assembler has no other way to count them.
    for (index, Variable(name, ty, bytes)) in variables.iter().enumerate() {
        writeln!(source, ".Lv_{name}: .uleb128 4\n.asciz \"{name}\"\n.4byte .L{ty} - .Lcu\n.uleb128 .Le{index} - .Ls{index}\n.Ls{index}: {bytes}\n.Le{index}:")
            .unwrap();
    }
    for (name, ty, abbreviation, bytes) in constants {
        writeln!(
            source,
            ".uleb128 {abbreviation}\n.asciz \"{name}\"\n.4byte .L{ty} - .Lcu\n{bytes}"
        )
        .unwrap();
    }
    source.push_str(
        r#"
        .byte 0
.Lg_die:
        .uleb128 3
        .asciz "g"
        .8byte g, .Lg_end - g
        .uleb128 1
        .byte 0x9c
        .uleb128 8
        .8byte .Lreturn
        .4byte .Lf_die - .Lcu
        .uleb128 9
        .uleb128 1
        .byte 0x55
        .uleb128 2
        .byte 0x73, 5
        .uleb128 10
        .4byte .Lremoved - .Lcu
        .uleb128 2
        .byte 0x08, 42
        .byte 0
        .uleb128 8
        .8byte .Lreturn2
        .4byte .Lg_die - .Lcu
        .uleb128 9
        .uleb128 1
        .byte 0x55
        .uleb128 2
        .byte 0x73, 5
        .byte 0
        .byte 0
        .byte 0
.Lcu_end:
        .section .note.GNU-stack,"",@progbits
"#,
    );
    let built = build(
        "gcc-12",
        &["-nostdlib", "-static", "-no-pie", "-x", "assembler"],
        &source,
    );
    Image::from_bytes(built.bytes()).unwrap()
}

fn machine(image: &Image) -> Fake {
    let mut stack = vec![0u8; 256];
    // f was called from g: its return address is below what g pushed.
    let after_call = image.symbol("g").unwrap().address.0 + 4 + 5;
    stack[64..72].copy_from_slice(&0x1111u64.to_le_bytes());
    stack[72..80].copy_from_slice(&after_call.to_le_bytes());
    stack[96..104].copy_from_slice(&0x8877_6655_4433_2211u64.to_le_bytes());
    Fake {
        registers: [
            (0, 100),
            (1, u128::from(-5i64 as u64)),
            (3, 0x2222),
            (5, 0xdead_beef),
            (6, u128::from(STACK + 96)),
            (7, u128::from(STACK + 64)),
            (17, u128::from(2.5f64.to_bits())),
            (18, u128::from(1.5f32.to_bits())),
        ]
        .into(),
        memory: vec![
            (STACK, stack),
            (
                image.symbol("target").unwrap().address.0,
                77u64.to_le_bytes().to_vec(),
            ),
            (FS - 48, (0..48).collect()),
        ],
        bias: 0,
        fs_base: Some(FS),
    }
}

fn pc(image: &Image) -> Svma {
    Svma(image.symbol("f").unwrap().address.0 + 1)
}

/// Observes all variables of one image: name to observation.
fn observe_all(image: &Image) -> Vec<(String, Observation, String)> {
    let site = image.site(pc(image), &SiteOptions::default()).unwrap();
    assert_eq!(site.function, "f");
    let mut out = Vec::new();
    image.observe(&site, &machine(image), &mut out);
    assert_eq!(out.len(), site.leaves().len());
    let leaves = site.leaves().iter().enumerate().zip(out);
    leaves
        .map(|((index, leaf), seen)| {
            (
                leaf.key.to_string(),
                seen,
                image.describe_location(&site, index),
            )
        })
        .collect()
}

fn signed(value: i128) -> Observation {
    Observation::Value(Value::Signed(value))
}

fn unsigned(value: u128) -> Observation {
    Observation::Value(Value::Unsigned(value))
}

fn check(cases: &[(&str, &str, Observation)]) {
    let names: Vec<String> = (0..cases.len()).map(|index| format!("v{index}")).collect();
    let variables: Vec<Variable<'_>> = names
        .iter()
        .zip(cases)
        .map(|(name, (ty, bytes, _))| Variable(name, ty, bytes))
        .collect();
    let image = assemble(&variables, &[]);
    let seen = observe_all(&image);
    for (name, (ty, bytes, expected)) in names.iter().zip(cases) {
        let (_, got, text) = seen
            .iter()
            .find(|(have, _, _)| have == name)
            .unwrap_or_else(|| panic!("no {name}: {ty} {bytes}"));
        assert_eq!(got, expected, "{ty}: {bytes}\n{text}");
    }
}

#[test]
fn locations() {
    check(&[
        ("int", ".byte 0x50", signed(100)),
        ("int", ".byte 0x90; .uleb128 1", signed(-5)),
        ("u16", ".byte 0x51", unsigned(0xfffb)),
        ("int", ".byte 0x76, 0", signed(0x4433_2211)),
        (
            "int",
            ".byte 0x92; .uleb128 6; .sleb128 2",
            signed(0x6655_4433),
        ),
        ("int", ".byte 0x91; .sleb128 16", signed(0x4433_2211)),
        ("i64", ".byte 0x70, 3, 0x9f", signed(103)),
        ("int", ".byte 3; .8byte target", signed(77)),
        ("int", ".byte 0xa1; .uleb128 0", signed(77)),
        ("int", ".byte 0xa2; .uleb128 1; .byte 0x9f", signed(1234)),
        ("int", ".byte 0x9e; .uleb128 4; .4byte -9", signed(-9)),
        (
            "int",
            ".byte 0x9e; .uleb128 2; .2byte 1",
            Observation::OptimisedOut,
        ),
        (
            "double",
            ".byte 0x61",
            Observation::Value(Value::Float {
                bits: 2.5f64.to_bits().into(),
                size: 8,
            }),
        ),
        (
            "float",
            ".byte 0x62",
            Observation::Value(Value::Float {
                bits: 1.5f32.to_bits().into(),
                size: 4,
            }),
        ),
        ("int", "", Observation::OptimisedOut),
        // The thread's block has 40 bytes, rounded up to 48; the word at 4 of it.
        (
            "int",
            ".byte 0x0e; .8byte 4; .byte 0x9b",
            signed(0x0706_0504),
        ),
        (
            "int",
            ".byte 0x0e; .8byte 8; .byte 0xe0",
            signed(0x0b0a_0908),
        ),
        ("int", ".byte 0x9c, 0x9f", signed(i128::from(STACK + 80))),
        (
            "int",
            ".byte 0x99; .4byte .Lcallee - .Lcu; .byte 0x9f",
            signed(5),
        ),
        (
            "int",
            ".byte 0x98; .2byte .Lcallee - .Lcu; .byte 0x31, 0x22, 0x9f",
            signed(6),
        ),
        (
            "int",
            ".byte 0x9a; .4byte .Lcallee - .Lcu; .byte 0x9f",
            signed(5),
        ),
        (
            "int",
            ".byte 0xfd; .4byte .Lstatic - .Lcu; .byte 0x9f",
            signed(77),
        ),
    ]);
}

#[test]
fn arithmetic() {
    check(&[
        ("int", ".byte 0x08, 7, 0x09, -3, 0x22, 0x9f", signed(4)),
        (
            "int",
            ".byte 0x0a; .2byte 300; .byte 0x0b; .2byte -2; .byte 0x1e, 0x9f",
            signed(-600),
        ),
        (
            "int",
            ".byte 0x0c; .4byte 17; .byte 0x35, 0x1b, 0x9f",
            signed(3),
        ),
        ("int", ".byte 0x09, -17, 0x35, 0x1b, 0x9f", signed(-3)),
        ("int", ".byte 0x41, 0x35, 0x1d, 0x9f", signed(2)),
        ("int", ".byte 0x09, -7, 0x19, 0x9f", signed(7)),
        ("int", ".byte 0x37, 0x1f, 0x9f", signed(-7)),
        ("int", ".byte 0x30, 0x20, 0x9f", signed(-1)),
        ("int", ".byte 0x3c, 0x3a, 0x1a, 0x9f", signed(8)),
        ("int", ".byte 0x3c, 0x3a, 0x21, 0x9f", signed(14)),
        ("int", ".byte 0x3c, 0x3a, 0x27, 0x9f", signed(6)),
        ("int", ".byte 0x33, 0x34, 0x24, 0x9f", signed(48)),
        (
            "i64",
            ".byte 0x09, -8, 0x31, 0x25, 0x9f",
            signed(i128::from(i64::MAX) - 3),
        ),
        ("i64", ".byte 0x09, -8, 0x31, 0x26, 0x9f", signed(-4)),
        ("int", ".byte 0x39, 0x34, 0x1c, 0x9f", signed(5)),
        (
            "int",
            ".byte 0x35, 0x23; .uleb128 1000; .byte 0x9f",
            signed(1005),
        ),
        ("int", ".byte 0x35, 0x12, 0x1e, 0x9f", signed(25)),
        ("int", ".byte 0x35, 0x36, 0x14, 0x9f", signed(5)),
        ("int", ".byte 0x35, 0x36, 0x37, 0x15, 2, 0x9f", signed(5)),
        ("int", ".byte 0x35, 0x36, 0x16, 0x1c, 0x9f", signed(1)),
        ("int", ".byte 0x31, 0x32, 0x33, 0x17, 0x13, 0x9f", signed(1)),
        ("int", ".byte 0x31, 0x32, 0x2d, 0x9f", signed(1)),
        ("int", ".byte 0x31, 0x32, 0x2a, 0x9f", signed(0)),
        ("int", ".byte 0x31, 0x31, 0x29, 0x9f", signed(1)),
        ("int", ".byte 0x31, 0x31, 0x2e, 0x9f", signed(0)),
        ("int", ".byte 0x09, -1, 0x31, 0x2b, 0x9f", signed(0)),
        ("int", ".byte 0x31, 0x31, 0x2c, 0x9f", signed(1)),
        (
            "int",
            ".byte 0x36, 0x31, 0x28; .2byte 2; .byte 0x31, 0x22, 0x9f",
            signed(6),
        ),
        (
            "int",
            ".byte 0x36, 0x30, 0x28; .2byte 2; .byte 0x31, 0x22, 0x9f",
            signed(7),
        ),
        (
            "int",
            ".byte 0x2f; .2byte 1; .byte 0x35, 0x36, 0x9f",
            signed(6),
        ),
        ("int", ".byte 0x76, 0, 0x94, 2, 0x9f", signed(0x2211)),
        (
            "i64",
            ".byte 0x76, 0, 0x06, 0x9f",
            signed(i128::from(0x8877_6655_4433_2211u64 as i64)),
        ),
        ("int", ".byte 0x35, 0xf0, 0x9f", signed(5)),
        ("int", ".byte 0x50, 0xf0", signed(100)),
        ("int", ".byte 0x35, 0x96, 0x9f", signed(5)),
        (
            "int",
            ".byte 0x35, 0x30, 0x1b, 0x9f",
            Observation::Unreadable("DW_OP_div: division by zero".into()),
        ),
    ]);
}

#[test]
fn typed_arithmetic() {
    let ill = |why: &str| Observation::IllFormed(why.into());
    let float = |value: f64| {
        Observation::Value(Value::Float {
            bits: value.to_bits().into(),
            size: 8,
        })
    };
    check(&[
        // The fixture of clang 19: convert to u16, then and with a generic constant.
        (
            "int",
            ".byte 0x70, 0, 0xa8; .uleb128 .Lu16 - .Lcu; .byte 0x31, 0x1a, 0x9f",
            ill("DW_OP_and: operands of different types, unsigned 2-byte and generic"),
        ),
        (
            "int",
            ".byte 0x70, 0, 0xa8; .uleb128 .Lu16 - .Lcu; .byte 0x31, 0x24, 0x9f",
            ill("DW_OP_shl: operands of different types, unsigned 2-byte and generic"),
        ),
        (
            "int",
            ".byte 0x71, 0, 0xa8; .uleb128 .Lu16 - .Lcu; .byte 0xa8; .uleb128 0; .byte 0x31, 0x22, 0x9f",
            signed(0xfffc),
        ),
        (
            "int",
            ".byte 0x71, 0, 0xa8; .uleb128 .Lint - .Lcu; .byte 0xa8; .uleb128 .Li64 - .Lcu; .byte 0x9f",
            signed(-5),
        ),
        (
            "i64",
            ".byte 0xa4; .uleb128 .Lu8 - .Lcu; .byte 1, 200, 0xa8; .uleb128 .Li64 - .Lcu; .byte 0x9f",
            signed(200),
        ),
        (
            "double",
            ".byte 0xa5; .uleb128 17; .uleb128 .Ldouble - .Lcu; .byte 0x12, 0x22, 0x9f",
            float(5.0),
        ),
        (
            "i64",
            ".byte 0xa5; .uleb128 17; .uleb128 .Ldouble - .Lcu; .byte 0xa8; .uleb128 .Li64 - .Lcu; .byte 0x9f",
            signed(2),
        ),
        (
            "double",
            ".byte 0x09, -3, 0xa8; .uleb128 .Ldouble - .Lcu; .byte 0x9f",
            float(-3.0),
        ),
        (
            "i64",
            ".byte 0xa5; .uleb128 17; .uleb128 .Ldouble - .Lcu; .byte 0xa9; .uleb128 .Li64 - .Lcu; .byte 0x9f",
            signed(2.5f64.to_bits().into()),
        ),
        (
            "i64",
            ".byte 0x31, 0xa9; .uleb128 .Lu16 - .Lcu; .byte 0x9f",
            ill("DW_OP_reinterpret: generic to unsigned 2-byte, which have different sizes"),
        ),
        (
            "int",
            ".byte 0x76, 0, 0xa6, 2; .uleb128 .Lu16 - .Lcu; .byte 0xa8; .uleb128 0; .byte 0x9f",
            signed(0x2211),
        ),
        (
            "double",
            ".byte 0xa5; .uleb128 17; .uleb128 .Ldouble - .Lcu; .byte 0x12, 0x1a, 0x9f",
            ill("DW_OP_and: expected integers on the stack, met 8-byte floating-point values"),
        ),
        (
            "i128",
            ".byte 0x70, 0, 0xa8; .uleb128 .Li128 - .Lcu; .byte 0x08, 70, 0xa8; .uleb128 .Li128 - .Lcu; .byte 0x24, 0x9f",
            signed(100 << 70),
        ),
        // The vendor's numbers of the same operations, as gcc wrote them for DWARF 4.
        (
            "int",
            ".byte 0x71, 0, 0xf7; .uleb128 .Lu16 - .Lcu; .byte 0xf7; .uleb128 0; .byte 0x9f",
            signed(0xfffb),
        ),
        (
            "int",
            ".byte 0xf4; .uleb128 .Lint - .Lcu; .byte 4; .4byte -2; .byte 0x9f",
            signed(-2),
        ),
        (
            "int",
            ".byte 0xf5; .uleb128 0; .uleb128 .Lint - .Lcu; .byte 0x9f",
            signed(100),
        ),
        (
            "int",
            ".byte 0x76, 0, 0xf6, 4; .uleb128 .Lint - .Lcu; .byte 0x9f",
            signed(0x4433_2211),
        ),
        (
            "int",
            ".byte 0x31, 0xf7; .uleb128 .Larray - .Lcu; .byte 0x9f",
            ill("base type: expected DW_TAG_base_type, met DW_TAG_array_type"),
        ),
    ]);
}

#[test]
fn pieces() {
    let image = assemble(
        &[
            Variable(
                "two",
                "array",
                ".byte 0x50, 0x93, 4, 0x93, 4, 0x76, 0, 0x93, 4",
            ),
            Variable("split", "array", ".byte 0x51, 0x93, 2, 0x34, 0x9f, 0x93, 2"),
            Variable(
                "bits",
                "int",
                ".byte 0x50, 0x9d, 4, 0, 0x51, 0x9d; .uleb128 28; .uleb128 3",
            ),
            Variable("missing", "int", ".byte 0x50, 0x93, 2, 0x93, 2"),
            Variable("unfinished", "int", ".byte 0x50, 0x93, 2, 0x51"),
            Variable(
                "pointer",
                "pointer",
                ".byte 0xa0; .4byte .Lcallee - .Lcu; .sleb128 4",
            ),
            Variable(
                "pointer4",
                "pointer",
                ".byte 0xf2; .4byte .Lcallee - .Lcu; .sleb128 0",
            ),
            Variable(
                "no_pointer",
                "int",
                ".byte 0xa0; .4byte .Lcallee - .Lcu; .sleb128 4",
            ),
        ],
        &[],
    );
    let seen = observe_all(&image);
    let of = |name: &str| {
        seen.iter()
            .find(|(have, _, _)| have == name)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(of("two[0]"), signed(100));
    assert_eq!(of("two[1]"), Observation::OptimisedOut);
    assert_eq!(of("two[2]"), signed(0x4433_2211));
    assert_eq!(
        of("two[3]"),
        Observation::OptimisedOut,
        "past the last piece"
    );
    assert_eq!(of("split[0]"), signed(0x4_fffb));
    assert_eq!(of("split[1]"), Observation::OptimisedOut);
    assert_eq!(of("bits"), signed(i128::from((-5i32 >> 3 << 4) | 100 & 15)));
    assert_eq!(
        of("missing"),
        Observation::OptimisedOut,
        "half of it has no location"
    );
    assert!(matches!(of("unfinished"), Observation::IllFormed(_)));
    let synthetic = |offset| {
        Observation::Value(Value::Pointer(PointerValue::Synthetic {
            variable: "callee".into(),
            offset,
        }))
    };
    assert_eq!(of("pointer"), synthetic(4));
    assert_eq!(of("pointer4"), synthetic(0));
    assert_eq!(of("no_pointer"), Observation::OptimisedOut);
}

#[test]
fn values_from_the_caller() {
    check(&[
        // rbx of the caller is saved on the stack (0x1111); the call passed rbx + 5 in rdi.
        (
            "int",
            ".byte 0xa3; .uleb128 1; .byte 0x55, 0x9f",
            signed(0x1116),
        ),
        (
            "int",
            ".byte 0xf3; .uleb128 1; .byte 0x55, 0x31, 0x22, 0x9f",
            signed(0x1117),
        ),
        (
            "int",
            ".byte 0xfa; .4byte .Lremoved - .Lcu; .byte 0x9f",
            signed(42),
        ),
        (
            "int",
            ".byte 0xa3; .uleb128 1; .byte 0x54, 0x9f",
            Observation::Unreadable("the call does not say what rsi was".into()),
        ),
        (
            "int",
            ".byte 0xa3; .uleb128 2; .byte 0x31, 0x31, 0x9f",
            Observation::Unreadable("the entry value of more than a register".into()),
        ),
    ]);
}

#[test]
fn a_tail_call_leaves_nothing_to_trust() {
    let entry = ".byte 0xa3; .uleb128 1; .byte 0x55, 0x9f";
    let image = assemble(&[Variable("v", "int", entry)], &[]);
    let site = image.site(pc(&image), &SiteOptions::default()).unwrap();
    let index = support::index(&site, "v");
    let returning_to = |address: u64| {
        let mut machine = machine(&image);
        machine.memory[0].1[72..80].copy_from_slice(&address.to_le_bytes());
        let mut out = Vec::new();
        image.observe(&site, &machine, &mut out);
        out[index].clone()
    };
    let g = image.symbol("g").unwrap().address.0;
    assert_eq!(returning_to(g + 9), signed(0x1116));
    let unreadable = |why: &str| Observation::Unreadable(why.into());
    let other = unreadable("the caller called another function, which ended in a tail call");
    assert_eq!(returning_to(g + 14), other, "that call was of g");
    assert_eq!(
        returning_to(g + 5),
        unreadable("the caller does not describe this call")
    );
    assert_eq!(
        returning_to(1),
        unreadable("the caller has no debug information")
    );
}

#[test]
fn what_breaks_the_standard_is_ill_formed() {
    let cases = [
        ("int", ".byte 0x22, 0x9f", "stack is empty"),
        ("int", ".byte 0x9f", "stack is empty"),
        ("int", ".byte 0x96", "stack is empty"),
        ("int", ".byte 0x31, 0x15, 4", "stack is too short"),
        ("int", ".byte 0x02", "unknown operation"),
        ("int", ".byte 0x0a, 1", "DW_OP_const2u"),
        ("int", ".byte 0x50, 0x31, 0x22", "must come last"),
        ("int", ".byte 0x2f; .2byte -3", "does not end"),
        ("int", ".byte 0x31, 0x2f; .2byte -4", "grows without end"),
        ("int", ".byte 0x2f; .2byte 100", "no operation starts"),
        ("int", ".byte 0xa1; .uleb128 900", "address index"),
        ("int", ".byte 0x97", "push_object_address"),
        ("int", ".byte 0x99; .4byte 3; .byte 0x9f", "no entry starts"),
        (
            "int",
            ".byte 0x31, 0xa8; .uleb128 1; .byte 0x9f",
            "no entry starts",
        ),
        (
            "int",
            ".byte 0x76, 0, 0x94, 16, 0x9f",
            "DW_OP_deref_size 16",
        ),
        ("int", ".byte 0x90; .uleb128 500", "does not have"),
    ];
    let names: Vec<String> = (0..cases.len()).map(|index| format!("v{index}")).collect();
    let variables: Vec<_> = names
        .iter()
        .zip(&cases)
        .map(|(name, (ty, bytes, _))| Variable(name, ty, bytes))
        .collect();
    let seen = observe_all(&assemble(&variables, &[]));
    for (name, (_, bytes, reason)) in names.iter().zip(&cases) {
        match &seen.iter().find(|(have, _, _)| have == name).unwrap().1 {
            Observation::IllFormed(why) => assert!(why.contains(reason), "{bytes}: {why}"),
            other => panic!("{bytes}: {other:?}"),
        }
    }
}

#[test]
fn constants_are_extended_as_their_form_says() {
    let image = assemble(
        &[],
        &[
            ("data1", "int", "20", ".byte 0xff"),
            ("data2", "int", "21", ".2byte 0xffff"),
            ("data4", "i64", "22", ".4byte 0xffffffff"),
            ("data8", "int", "23", ".8byte -2"),
            ("sdata", "i64", "24", ".sleb128 -3"),
            ("sdata_wide", "i128", "24", ".sleb128 -3"),
            ("udata", "i64", "25", ".uleb128 0xffffffff"),
            ("block", "array", "26", ".byte 8; .4byte 1, 2"),
            ("string", "chars", "27", ".asciz \"ab\""),
            ("address", "pointer", "28", ".8byte target"),
            ("nothing", "int", "12", ""),
        ],
    );
    let seen = observe_all(&image);
    let of = |name: &str| {
        seen.iter()
            .find(|(have, _, _)| have == name)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(of("data1"), signed(255));
    assert_eq!(of("data2"), signed(65535));
    assert_eq!(of("data4"), signed(0xffff_ffff));
    assert_eq!(of("data8"), signed(-2));
    assert_eq!(of("sdata"), signed(-3));
    assert_eq!(of("sdata_wide"), signed(-3));
    assert_eq!(of("udata"), signed(0xffff_ffff));
    assert_eq!((of("block[0]"), of("block[1]")), (signed(1), signed(2)));
    assert_eq!(of("block[2]"), Observation::OptimisedOut);
    assert_eq!(
        (of("string[0]"), of("string[2]"), of("string[3]")),
        (unsigned(97), unsigned(0), Observation::OptimisedOut)
    );
    match of("address") {
        Observation::Value(Value::Pointer(PointerValue::Symbol {
            name, offset: 0, ..
        })) => assert_eq!(&*name, "target"),
        other => panic!("{other:?}"),
    }
    assert_eq!(of("nothing"), Observation::OptimisedOut);
    let text = &seen.iter().find(|(have, _, _)| have == "sdata").unwrap().2;
    assert_eq!(text, "DW_AT_const_value -3");
}

#[test]
fn locations_are_described_in_words() {
    let image = assemble(
        &[
            Variable("a", "int", ".byte 0x73, 0, 0x9f"),
            Variable("b", "int", ".byte 0x91; .sleb128 -20"),
            Variable("c", "int", ".byte 0xa3; .uleb128 1; .byte 0x55, 0x9f"),
            Variable("d", "int", ".byte 0x50, 0x93, 2"),
        ],
        &[],
    );
    let seen = observe_all(&image);
    let text = |name: &str| {
        seen.iter()
            .find(|(have, _, _)| have == name)
            .unwrap()
            .2
            .clone()
    };
    assert_eq!(text("a"), "DW_OP_breg3 rbx+0, DW_OP_stack_value");
    assert_eq!(text("b"), "DW_OP_fbreg -20");
    assert_eq!(
        text("c"),
        "DW_OP_entry_value(DW_OP_reg5 rdi), DW_OP_stack_value"
    );
    assert_eq!(text("d"), "DW_OP_reg0 rax, DW_OP_piece 2");
}

#[test]
fn circles_end() {
    // A location that calls itself often, types that contain themselves, and a typedef of itself.
    let call = ".byte 0x99; .4byte .Lv_calls - .Lcu; ".repeat(40);
    let image = assemble(
        &[
            Variable("calls", "int", &call),
            Variable("circle", "circle", ".byte 0x50"),
            Variable("nest", "nest", ".byte 0x50"),
            Variable("huge", "huge", ".byte 0x50"),
            Variable("fine", "int", ".byte 0x50"),
        ],
        &[],
    );
    let begun = std::time::Instant::now();
    let seen = observe_all(&image);
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    for name in ["calls", "circle", "nest", "huge"] {
        let found = seen
            .iter()
            .find(|(have, _, _)| have == name)
            .unwrap_or_else(|| panic!("no {name}"));
        assert!(
            matches!(found.1, Observation::IllFormed(_)),
            "{name}: {found:?}"
        );
    }
    assert_eq!(
        seen.iter().find(|(have, _, _)| have == "fine").unwrap().1,
        signed(100)
    );
}

//! Every instruction form against the real processor: random registers, flags and memory, one execution, all of
//! the state compared. The forms are written to `docs/prove-forms.md`, which this test keeps current.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use candor_prove::domain::{Concrete, Domain};
use candor_prove::image::listing;
use candor_prove::x86::{Cpu, Flags, Memory, Next, Op, State, Unsupported};
use candor_toolchain::{Job, Limits, Sandbox, Scratch};
use iced_x86::{ConditionCode, Decoder, DecoderOptions};

/// Random states per form.
const STATES: usize = 1000;
const BUFFER: usize = 256;

/// General registers in the order of the processor's numbers; rsp stays the test's own.
const REGISTERS: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];

#[repr(C, align(64))]
struct Native {
    regs: [u64; 16],
    flags: u64,
    pad: [u64; 7],
    vectors: [[u32; 8]; 16],
    buffer: [u8; BUFFER],
}

/// The buffer, and a stack of the interpreter's own.
struct Bytes {
    base: u64,
    buffer: [u8; BUFFER],
    stack: HashMap<u64, u8>,
}

impl Memory<Concrete> for Bytes {
    fn load(&mut self, _: &mut Concrete, address: u64, bytes: u8) -> Result<u64, Unsupported> {
        let mut value = 0;
        for index in 0..u64::from(bytes) {
            let at = address + index;
            let byte = match self.buffer.get(at.wrapping_sub(self.base) as usize) {
                Some(byte) => *byte,
                None => self.stack.get(&at).copied().unwrap_or(0),
            };
            value |= u64::from(byte) << (8 * index);
        }
        Ok(value)
    }
    fn store(
        &mut self,
        _: &mut Concrete,
        address: u64,
        bytes: u8,
        value: u64,
    ) -> Result<(), Unsupported> {
        for index in 0..u64::from(bytes) {
            let at = address + index;
            let byte = (value >> (8 * index)) as u8;
            match self.buffer.get_mut(at.wrapping_sub(self.base) as usize) {
                Some(slot) => *slot = byte,
                None => {
                    self.stack.insert(at, byte);
                }
            }
        }
        Ok(())
    }
}

/// The forms, by group.
fn forms() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    let widths = [
        ("al", "dl", "byte ptr", 0x55u64),
        ("ax", "dx", "word ptr", 0x1234),
        ("eax", "edx", "dword ptr", 0x1234_5678),
        ("rax", "rdx", "qword ptr", 0x1234_5678),
    ];
    let memory = ["[rsi+48]", "[rsi+rcx*4+16]"];
    for op in [
        "add", "sub", "cmp", "and", "or", "xor", "test", "mov", "adc", "sbb",
    ] {
        for (a, b, size, immediate) in widths {
            all.push(("arithmetic", format!("{op} {a}, {b}")));
            all.push(("arithmetic", format!("{op} {a}, {immediate}")));
            if op != "test" {
                all.push(("arithmetic", format!("{op} {a}, {size} {}", memory[1])));
            }
            all.push(("arithmetic", format!("{op} {size} {}, {a}", memory[0])));
            all.push(("arithmetic", format!("{op} {size} {}, 17", memory[0])));
        }
    }
    for op in ["xor", "sub"] {
        all.push(("arithmetic", format!("{op} eax, eax")));
        all.push(("arithmetic", format!("{op} rax, rax")));
    }
    for register in ["ah", "bh"] {
        all.push(("arithmetic", format!("mov {register}, dl")));
        all.push(("arithmetic", format!("movzx eax, {register}")));
        all.push(("arithmetic", format!("test {register}, 4")));
    }
    for op in ["inc", "dec", "neg", "not"] {
        for (a, _, size, _) in widths {
            all.push(("arithmetic", format!("{op} {a}")));
            all.push(("arithmetic", format!("{op} {size} {}", memory[1])));
        }
    }
    for op in ["shl", "shr", "sar"] {
        for (a, _, size, _) in widths {
            for by in ["1", "3", "7", "cl"] {
                all.push(("shifts", format!("{op} {a}, {by}")));
            }
            all.push(("shifts", format!("{op} {size} {}, 2", memory[0])));
        }
        all.push(("shifts", format!("{op} eax, 31")));
        all.push(("shifts", format!("{op} rax, 63")));
    }
    for form in [
        "rol eax, 8",
        "ror rax, 13",
        "rol ax, 8",
        "shld eax, edx, 5",
        "shrd rax, rdx, 9",
        "bt eax, 3",
        "bt rax, rdx",
        "bswap eax",
        "bswap rax",
        "popcnt eax, edx",
        "popcnt rax, rdx",
    ] {
        all.push(("shifts", form.to_owned()));
    }
    for form in [
        "imul eax, edx",
        "imul rax, rdx",
        "imul eax, edx, 77",
        "imul rax, rdx, -5",
        "imul eax, dword ptr [rsi+48]",
        "imul rax, qword ptr [rsi+48], 100",
        "mul edx",
        "imul edx",
        "mul dword ptr [rsi+48]",
        "imul ax, dx",
    ] {
        all.push(("multiplication and division", form.to_owned()));
    }
    for form in [
        "xor edx, edx; div ebx",
        "xor edx, edx; div rbx",
        "cdq; idiv ebx",
        "cqo; idiv rbx",
        "xor edx, edx; div dword ptr [rsi+48]",
        "cdq; idiv dword ptr [rsi+48]",
    ] {
        all.push(("multiplication and division", form.to_owned()));
    }
    for form in [
        "cdqe",
        "cwde",
        "cbw",
        "cdq",
        "cqo",
        "movsx eax, dl",
        "movsx eax, dx",
        "movsx rax, dl",
        "movsx rax, dx",
        "movsxd rax, edx",
        "movsx eax, byte ptr [rsi+48]",
        "movsx rax, word ptr [rsi+48]",
        "movsxd rax, dword ptr [rsi+48]",
        "movzx eax, dl",
        "movzx eax, dx",
        "movzx eax, byte ptr [rsi+48]",
        "movzx eax, word ptr [rsi+rcx*2]",
        "movsx ax, dl",
        "movzx ax, dl",
        "xchg eax, edx",
        "xchg rax, rdx",
        "xchg al, dl",
        "movabs rax, 0x123456789abcdef0",
        "lea rax, [rdx+rcx*8-77]",
        "lea eax, [rdx+rdx*2]",
        "lea rax, [rdx*4+12345]",
        "lea eax, [rax-1]",
        "mov rax, rdx",
        "nop",
        "endbr64",
        "nop dword ptr [rax+rax*1+0]",
        "push rax; pop rdx",
        "push rbx; push rdx; pop rbx; pop rax",
        "push 77; pop rax",
        "push rbp; mov rbp, rsp; mov qword ptr [rbp-16], rdx; mov rax, qword ptr [rbp-16]; leave",
        "mov dword ptr [rsp-24], edx; mov eax, dword ptr [rsp-24]",
    ] {
        all.push(("moves", form.to_owned()));
    }
    let conditions = [
        "e", "ne", "l", "ge", "le", "g", "b", "ae", "be", "a", "s", "ns", "o", "no",
    ];
    for condition in conditions {
        all.push(("conditions", format!("set{condition} al")));
        all.push(("conditions", format!("set{condition} byte ptr [rsi+9]")));
        all.push(("conditions", format!("cmov{condition} eax, edx")));
        all.push((
            "conditions",
            format!("cmov{condition} rax, qword ptr [rsi+48]"),
        ));
        all.push(("jumps", format!("j{condition} 1f; mov eax, 7; 1: nop")));
        all.push((
            "jumps",
            format!("cmp eax, edx; j{condition} 1f; mov eax, 7; 1: nop"),
        ));
        all.push((
            "jumps",
            format!("add rax, rdx; j{condition} 1f; mov eax, 7; 1: nop"),
        ));
        if !["o", "no"].contains(&condition) {
            all.push((
                "jumps",
                format!("test al, dl; j{condition} 1f; mov ebx, 7; 1: nop"),
            ));
            all.push((
                "jumps",
                format!("dec ecx; j{condition} 1f; mov ebx, 7; 1: nop"),
            ));
        }
    }
    all.push(("jumps", "jmp 1f; mov eax, 7; 1: nop".to_owned()));

    let vector3 = [
        "paddb",
        "paddw",
        "paddd",
        "paddq",
        "psubb",
        "psubw",
        "psubd",
        "psubq",
        "pmullw",
        "pmulld",
        "pmulhw",
        "pmulhuw",
        "pmuludq",
        "pmuldq",
        "pmaddwd",
        "pand",
        "pandn",
        "por",
        "pxor",
        "pcmpeqb",
        "pcmpeqw",
        "pcmpeqd",
        "pcmpeqq",
        "pcmpgtb",
        "pcmpgtw",
        "pcmpgtd",
        "pcmpgtq",
        "pmaxsb",
        "pmaxsw",
        "pmaxsd",
        "pmaxub",
        "pmaxuw",
        "pmaxud",
        "pminsb",
        "pminsw",
        "pminsd",
        "pminub",
        "pminuw",
        "pminud",
        "paddusb",
        "paddusw",
        "paddsb",
        "paddsw",
        "psubusb",
        "psubusw",
        "psubsb",
        "psubsw",
        "packssdw",
        "packusdw",
        "packsswb",
        "packuswb",
        "punpcklbw",
        "punpckhbw",
        "punpcklwd",
        "punpckhwd",
        "punpckldq",
        "punpckhdq",
        "punpcklqdq",
        "punpckhqdq",
        "pshufb",
        "phaddd",
        "psignd",
    ];
    for op in vector3 {
        all.push(("vector arithmetic", format!("{op} xmm1, xmm2")));
        all.push((
            "vector arithmetic",
            format!("{op} xmm1, xmmword ptr [rsi+32]"),
        ));
        all.push(("vector arithmetic", format!("v{op} xmm1, xmm2, xmm3")));
        all.push(("vector arithmetic", format!("v{op} ymm1, ymm2, ymm3")));
        all.push((
            "vector arithmetic",
            format!("v{op} ymm1, ymm2, ymmword ptr [rsi+32]"),
        ));
    }
    for op in ["pxor", "xorps", "psubd"] {
        all.push(("vector arithmetic", format!("{op} xmm1, xmm1")));
    }
    all.push(("vector arithmetic", "vpxor xmm1, xmm1, xmm1".to_owned()));
    for op in [
        "andps", "andnps", "orps", "xorps", "andpd", "orpd", "xorpd", "andnpd", "unpcklps",
        "unpckhps", "unpcklpd", "unpckhpd",
    ] {
        all.push(("vector moves", format!("{op} xmm1, xmm2")));
        all.push(("vector moves", format!("v{op} ymm1, ymm2, ymm3")));
    }
    for op in [
        "psllw", "pslld", "psllq", "psrlw", "psrld", "psrlq", "psraw", "psrad",
    ] {
        for by in [0, 1, 5, 15, 31, 40, 63, 200] {
            all.push(("vector shifts", format!("{op} xmm1, {by}")));
        }
        all.push(("vector shifts", format!("v{op} ymm1, ymm2, 3")));
        all.push(("vector shifts", format!("{op} xmm1, xmm2")));
        all.push(("vector shifts", format!("v{op} ymm1, ymm2, xmm3")));
    }
    for op in ["vpsllvd", "vpsllvq", "vpsrlvd", "vpsrlvq", "vpsravd"] {
        all.push(("vector shifts", format!("{op} ymm1, ymm2, ymm3")));
        all.push(("vector shifts", format!("{op} xmm1, xmm2, xmm3")));
    }
    for op in ["pabsb", "pabsw", "pabsd"] {
        all.push(("vector arithmetic", format!("{op} xmm1, xmm2")));
        all.push(("vector arithmetic", format!("v{op} ymm1, ymm2")));
    }
    for op in ["movdqa", "movdqu", "movaps", "movups", "movapd", "movupd"] {
        all.push(("vector moves", format!("{op} xmm1, xmm2")));
        all.push(("vector moves", format!("{op} xmm1, xmmword ptr [rsi+32]")));
        all.push(("vector moves", format!("{op} xmmword ptr [rsi+32], xmm2")));
        all.push(("vector moves", format!("v{op} xmm1, xmm2")));
        all.push(("vector moves", format!("v{op} ymm1, ymmword ptr [rsi+32]")));
        all.push(("vector moves", format!("v{op} ymmword ptr [rsi+64], ymm2")));
    }
    for form in [
        "lddqu xmm1, xmmword ptr [rsi+1]",
        "movntdq xmmword ptr [rsi+32], xmm1",
        "movd xmm1, eax",
        "movd eax, xmm1",
        "movd xmm1, dword ptr [rsi+4]",
        "movd dword ptr [rsi+4], xmm1",
        "movq xmm1, rax",
        "movq rax, xmm1",
        "movq xmm1, qword ptr [rsi+8]",
        "movq qword ptr [rsi+8], xmm1",
        "movq xmm1, xmm2",
        "vmovd xmm1, eax",
        "vmovd eax, xmm1",
        "vmovd xmm1, dword ptr [rsi+4]",
        "vmovq xmm1, rax",
        "vmovq rax, xmm1",
        "vmovq xmm1, xmm2",
        "vmovq qword ptr [rsi+8], xmm1",
        "movss xmm1, xmm2",
        "movss xmm1, dword ptr [rsi+4]",
        "movss dword ptr [rsi+4], xmm1",
        "vmovss xmm1, xmm2, xmm3",
        "vmovss xmm1, dword ptr [rsi+4]",
        "movsd xmm1, xmm2",
        "movsd xmm1, qword ptr [rsi+8]",
        "movsd qword ptr [rsi+8], xmm1",
        "vmovsd xmm1, xmm2, xmm3",
        "vmovsd xmm1, qword ptr [rsi+8]",
        "movlps xmm1, qword ptr [rsi+8]",
        "movlps qword ptr [rsi+8], xmm1",
        "movhps xmm1, qword ptr [rsi+8]",
        "movhps qword ptr [rsi+8], xmm1",
        "vmovhps xmm1, xmm2, qword ptr [rsi+8]",
        "vmovlps xmm1, xmm2, qword ptr [rsi+8]",
        "movlpd xmm1, qword ptr [rsi+8]",
        "movhpd qword ptr [rsi+8], xmm1",
        "vmovhps qword ptr [rsi+8], xmm2",
        "movhlps xmm1, xmm2",
        "movlhps xmm1, xmm2",
        "vmovhlps xmm1, xmm2, xmm3",
        "vmovlhps xmm1, xmm2, xmm3",
        "movddup xmm1, xmm2",
        "movddup xmm1, qword ptr [rsi+8]",
        "vmovddup ymm1, ymm2",
        "movshdup xmm1, xmm2",
        "vmovsldup ymm1, ymm2",
        "vzeroupper",
        "ptest xmm1, xmm2",
        "vptest ymm1, ymm2",
        "ptest xmm1, xmm1",
        "pmovmskb eax, xmm1",
        "vpmovmskb eax, ymm1",
        "movmskps eax, xmm1",
        "vmovmskps eax, ymm1",
        "movmskpd eax, xmm1",
        "vmovmskpd eax, ymm1",
        "vpermd ymm1, ymm2, ymm3",
        "vpermps ymm1, ymm2, ymm3",
    ] {
        all.push(("vector moves", form.to_owned()));
    }
    for control in [0, 1, 0x1b, 0x39, 0x4e, 0x93, 0xb1, 0xd8, 0xe4, 0xff] {
        for form in [
            "pshufd xmm1, xmm2,",
            "vpshufd ymm1, ymm2,",
            "pshuflw xmm1, xmm2,",
            "pshufhw xmm1, xmm2,",
            "vpshuflw ymm1, ymm2,",
            "vpshufhw ymm1, ymm2,",
            "shufps xmm1, xmm2,",
            "vshufps ymm1, ymm2, ymm3,",
            "vpermilps ymm1, ymm2,",
            "vpermq ymm1, ymm2,",
            "vpermpd ymm1, ymm2,",
            "pblendw xmm1, xmm2,",
            "vpblendw ymm1, ymm2, ymm3,",
            "vpblendd ymm1, ymm2, ymm3,",
            "vpblendd xmm1, xmm2, xmm3,",
            "vblendps ymm1, ymm2, ymm3,",
            "insertps xmm1, xmm2,",
            "vinsertps xmm1, xmm2, xmm3,",
            "vperm2i128 ymm1, ymm2, ymm3,",
            "vperm2f128 ymm1, ymm2, ymm3,",
        ] {
            all.push(("vector shuffles", format!("{form} {control}")));
        }
    }
    for control in [0, 1, 2, 3] {
        for form in [
            "shufpd xmm1, xmm2,",
            "blendpd xmm1, xmm2,",
            "vpermilpd xmm1, xmm2,",
            "pextrd eax, xmm1,",
            "pextrb eax, xmm1,",
            "pextrw eax, xmm1,",
            "pinsrd xmm1, eax,",
            "pinsrb xmm1, eax,",
            "pinsrw xmm1, eax,",
            "vpinsrd xmm1, xmm2, eax,",
            "vpextrd dword ptr [rsi+4], xmm1,",
            "extractps eax, xmm1,",
            "pinsrd xmm1, dword ptr [rsi+4],",
            "pextrb byte ptr [rsi+4], xmm1,",
            "pextrw word ptr [rsi+4], xmm1,",
            "blendps xmm1, xmm2,",
        ] {
            all.push(("vector shuffles", format!("{form} {control}")));
        }
    }
    for control in [5, 11, 15] {
        all.push((
            "vector shuffles",
            format!("vshufpd ymm1, ymm2, ymm3, {control}"),
        ));
        all.push((
            "vector shuffles",
            format!("vblendpd ymm1, ymm2, ymm3, {control}"),
        ));
    }
    for control in [0, 1] {
        for form in [
            "pextrq rax, xmm1,",
            "pinsrq xmm1, rax,",
            "vpinsrq xmm1, xmm2, rax,",
            "vextracti128 xmm1, ymm2,",
            "vextracti128 xmmword ptr [rsi+32], ymm2,",
            "vextractf128 xmm1, ymm2,",
            "vinserti128 ymm1, ymm2, xmm3,",
            "vinserti128 ymm1, ymm2, xmmword ptr [rsi+32],",
            "vinsertf128 ymm1, ymm2, xmm3,",
        ] {
            all.push(("vector shuffles", format!("{form} {control}")));
        }
    }
    for by in [0, 1, 4, 7, 8, 12, 15, 16, 19, 30, 40] {
        for form in [
            "psrldq xmm1,",
            "pslldq xmm1,",
            "vpsrldq ymm1, ymm2,",
            "vpslldq ymm1, ymm2,",
            "palignr xmm1, xmm2,",
            "vpalignr ymm1, ymm2, ymm3,",
        ] {
            all.push(("vector shuffles", format!("{form} {by}")));
        }
    }
    for extension in ["pmovsx", "pmovzx"] {
        for (kind, size, wide) in [
            ("bw", "qword", "xmmword"),
            ("bd", "dword", "qword"),
            ("bq", "word", "dword"),
            ("wd", "qword", "xmmword"),
            ("wq", "dword", "qword"),
            ("dq", "qword", "xmmword"),
        ] {
            all.push((
                "vector conversions",
                format!("{extension}{kind} xmm1, xmm2"),
            ));
            all.push((
                "vector conversions",
                format!("{extension}{kind} xmm1, {size} ptr [rsi+8]"),
            ));
            all.push((
                "vector conversions",
                format!("v{extension}{kind} ymm1, xmm2"),
            ));
            all.push((
                "vector conversions",
                format!("v{extension}{kind} ymm1, {wide} ptr [rsi+16]"),
            ));
        }
    }
    for form in [
        "pblendvb xmm1, xmm2, xmm0",
        "blendvps xmm1, xmm2, xmm0",
        "blendvpd xmm1, xmm2, xmm0",
        "vpblendvb xmm1, xmm2, xmm3, xmm4",
        "vpblendvb ymm1, ymm2, ymm3, ymm4",
        "vblendvps ymm1, ymm2, ymm3, ymm4",
        "vblendvpd ymm1, ymm2, ymm3, ymm4",
        "vpbroadcastb ymm1, xmm2",
        "vpbroadcastw ymm1, xmm2",
        "vpbroadcastd ymm1, xmm2",
        "vpbroadcastq ymm1, xmm2",
        "vpbroadcastd xmm1, dword ptr [rsi+4]",
        "vpbroadcastq ymm1, qword ptr [rsi+8]",
        "vpbroadcastb xmm1, byte ptr [rsi+8]",
        "vpbroadcastw xmm1, word ptr [rsi+8]",
        "vbroadcastss ymm1, dword ptr [rsi+4]",
        "vbroadcastss ymm1, xmm2",
        "vbroadcastsd ymm1, xmm2",
        "vbroadcasti128 ymm1, xmmword ptr [rsi+32]",
        "vbroadcastf128 ymm1, xmmword ptr [rsi+32]",
        "vpmaskmovd ymm1, ymm2, ymmword ptr [rsi+32]",
        "vpmaskmovd ymmword ptr [rsi+32], ymm1, ymm2",
        "vpmaskmovd xmm1, xmm2, xmmword ptr [rsi+32]",
        "vmaskmovps ymmword ptr [rsi+32], ymm1, ymm2",
        "vpand ymm4, ymm4, ymm5; vpgatherdd ymm1, dword ptr [rsi+ymm4*4], ymm2",
    ] {
        all.push(("vector moves", form.to_owned()));
    }
    all
}

/// A shared object with one function per form.
fn assemble(forms: &[(&str, String)]) -> (libloading::Library, Scratch) {
    let mut text = String::from(".intel_syntax noprefix\n.text\n");
    for (number, (_, form)) in forms.iter().enumerate() {
        let body = form.replace("; ", "\n");
        let _ = write!(
            text,
            ".globl t{number}, f{number}, e{number}\nt{number}:\npush rbx; push rbp; push r12; push r13; push r14; push r15\npush rdi\n"
        );
        for register in 0..16 {
            let at = 192 + 32 * register;
            let _ = writeln!(text, "vmovdqu ymm{register}, [rdi+{at}]");
        }
        text.push_str("push qword ptr [rdi+128]\npopfq\n");
        for (index, name) in REGISTERS.iter().enumerate() {
            if !["rsp", "rdi"].contains(name) {
                let _ = writeln!(text, "mov {name}, [rdi+{}]", 8 * index);
            }
        }
        let _ = writeln!(text, "mov rdi, [rdi+56]\nf{number}:\n{body}\ne{number}:");
        text.push_str(
            "push rax\npushfq\nmov rax, [rsp+16]\npop qword ptr [rax+128]\npop qword ptr [rax]\n",
        );
        for (index, name) in REGISTERS.iter().enumerate() {
            if !["rsp", "rax"].contains(name) {
                let _ = writeln!(text, "mov [rax+{}], {name}", 8 * index);
            }
        }
        for register in 0..16 {
            let at = 192 + 32 * register;
            let _ = writeln!(text, "vmovdqu [rax+{at}], ymm{register}");
        }
        text.push_str(
            "vzeroupper\npop rdi\npop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx\nret\n",
        );
    }
    text.push_str(".section .note.GNU-stack,\"\",@progbits\n");
    let scratch = Scratch::new().unwrap();
    let directory = scratch.path().to_owned();
    std::fs::write(directory.join("forms.s"), text).unwrap();
    let job = Job::new("gcc-12", &directory).args(["-shared", "-o", "forms.so", "forms.s"]);
    let finished = Sandbox::detect().run(&job, &Limits::compiler()).unwrap();
    assert!(finished.ending.success(), "{}", finished.stderr_text());
    // SAFETY: the object holds the functions above and no initialisers.
    let library = unsafe { libloading::Library::new(directory.join("forms.so")) }.unwrap();
    (library, scratch)
}

fn interesting(random: &mut fastrand::Rng) -> u64 {
    match random.u8(0..8) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.u8(0..64),
        3 => random.u64(0..64),
        4 => random.u64(..) & random.u64(..),
        5 => (random.i32(..) as i64) as u64,
        _ => random.u64(..),
    }
}

/// What a flags value says about each condition, against the processor's bits.
fn conditions_agree(d: &mut Concrete, flags: &Flags<u64, bool>, bits: u64) -> Result<(), String> {
    let (c, z, s, o) = (
        bits & 1 != 0,
        bits & 64 != 0,
        bits & 128 != 0,
        bits & 2048 != 0,
    );
    for (code, expected) in [
        (ConditionCode::e, z),
        (ConditionCode::l, s != o),
        (ConditionCode::le, z || s != o),
        (ConditionCode::b, c),
        (ConditionCode::be, c || z),
        (ConditionCode::s, s),
        (ConditionCode::o, o),
    ] {
        if let Some(found) = flags.condition(d, code)
            && found != expected
        {
            return Err(format!("condition {code:?}: {found} instead of {expected}"));
        }
    }
    Ok(())
}

#[test]
fn every_form_does_what_the_processor_does() {
    let forms = forms();
    let (library, _scratch) = assemble(&forms);
    let mut random = fastrand::Rng::with_seed(20_261_116);
    let mut failures: Vec<String> = Vec::new();
    let mut executions = 0u64;
    for (number, (_, form)) in forms.iter().enumerate() {
        let symbol = |prefix: char| -> *const u8 {
            // SAFETY: labels of the assembled text.
            let found: libloading::Symbol<'_, *const u8> =
                unsafe { library.get(format!("{prefix}{number}").as_bytes()) }.unwrap();
            *found
        };
        let (from, to) = (symbol('f'), symbol('e'));
        // SAFETY: the bytes between two labels of one section that is mapped.
        let bytes =
            unsafe { std::slice::from_raw_parts(from, to as usize - from as usize) }.to_vec();
        // SAFETY: a function assembled above, which keeps to the calling convention.
        let run: libloading::Symbol<'_, unsafe extern "C" fn(*mut Native)> =
            unsafe { library.get(format!("t{number}").as_bytes()) }.unwrap();
        let decoder = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE);
        let ops: BTreeMap<u64, Op> = decoder
            .into_iter()
            .map(|raw| {
                let op = Op {
                    raw,
                    displacement: None,
                    immediate: None,
                    table_slot: None,
                    callee: None,
                };
                (raw.ip(), op)
            })
            .collect();
        let mut done = 0;
        let mut tries = 0;
        while done < STATES {
            tries += 1;
            assert!(
                tries < 50 * STATES,
                "{form}: hardly any state is without a trap"
            );
            let mut native = Box::new(Native {
                regs: std::array::from_fn(|_| interesting(&mut random)),
                flags: 2,
                pad: [0; 7],
                vectors: std::array::from_fn(|_| {
                    std::array::from_fn(|_| interesting(&mut random) as u32)
                }),
                buffer: std::array::from_fn(|_| random.u8(..)),
            });
            if random.bool() {
                // masks as comparisons leave them
                for register in &mut native.vectors[..5] {
                    for lane in register {
                        *lane = if random.bool() { u32::MAX } else { 0 };
                    }
                }
            }
            if form.contains("vpgatherdd") {
                native.vectors[5] = [15; 8];
            }
            let mut flag = |bit: u32| u64::from(random.bool()) << bit;
            native.flags |= flag(0) | flag(6) | flag(7) | flag(11);
            let base = native.buffer.as_ptr() as u64;
            native.regs[6] = base;
            if form.contains("rcx") && !form.starts_with("lea") {
                native.regs[1] = random.u64(0..8);
            }
            let bits = native.flags;
            let mut state: State<Concrete> = State {
                regs: native.regs,
                vectors: native.vectors.map(|lanes| lanes.map(u64::from)),
                flags: Flags::Known {
                    c: bits & 1 != 0,
                    z: bits & 64 != 0,
                    s: bits & 128 != 0,
                    o: bits & 2048 != 0,
                },
            };
            state.regs[4] = 0x7fff_0000;
            let mut memory = Bytes {
                base,
                buffer: native.buffer,
                stack: HashMap::new(),
            };
            let mut d = Concrete::default();
            let mut at = 0x1000;
            let mut wrong = None;
            while let Some(op) = ops.get(&at) {
                let mut cpu = Cpu {
                    d: &mut d,
                    state: &mut state,
                    memory: &mut memory,
                    bases: &[],
                };
                at = match cpu.step(op) {
                    Ok(Next::Fall) => op.raw.next_ip(),
                    Ok(Next::Jump(to)) => to,
                    Ok(Next::Branch(taken, to)) => {
                        if taken {
                            to
                        } else {
                            op.raw.next_ip()
                        }
                    }
                    Ok(other) => panic!("{form}: {other:?}"),
                    Err(Unsupported(reason)) => {
                        wrong = Some(format!("unsupported: {reason} ({})", listing(&op.raw)));
                        break;
                    }
                };
            }
            if let Some(wrong) = wrong {
                failures.push(format!("{form}: {wrong}"));
                break;
            }
            if d.violated.is_some() {
                continue; // it would trap
            }
            // SAFETY: see above; the state is as the function expects it.
            unsafe { run(&mut *native) };
            executions += 1;
            done += 1;
            for (index, name) in REGISTERS.iter().enumerate() {
                if index != 4 && state.regs[index] != native.regs[index] {
                    wrong = Some(format!(
                        "{} is {:#x}, the processor has {:#x}",
                        name, state.regs[index], native.regs[index]
                    ));
                }
            }
            let vectors = state.vectors.map(|lanes| lanes.map(|lane| lane as u32));
            if vectors != native.vectors {
                let register = (0..16).find(|i| vectors[*i] != native.vectors[*i]).unwrap();
                wrong = Some(format!(
                    "vector {register} is {:x?}, the processor has {:x?}",
                    vectors[register], native.vectors[register]
                ));
            }
            if memory.buffer != native.buffer {
                wrong = Some("memory differs".to_owned());
            }
            if let Err(reason) = conditions_agree(&mut d, &state.flags, native.flags) {
                wrong = Some(reason);
            }
            if let Some(wrong) = wrong {
                failures.push(format!("{form}: {wrong}"));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(executions, (forms.len() * STATES) as u64);
    keep_table_current(&forms);
}

/// The table of forms in the manual is written by this test (with CANDOR_BLESS set) and compared by it.
fn keep_table_current(forms: &[(&str, String)]) {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (group, form) in forms {
        groups.entry(group).or_default().push(form);
    }
    let mut table = format!(
        "# Instruction forms of `candor prove`\n\nGenerated by `crates/prove/tests/cpu.rs`: each of these {} forms is run \
         {STATES} times from random registers, flags and memory on the real processor and in the semantics, and all of \
         the state is compared. Sequences test instructions that need each other.\n",
        forms.len()
    );
    for (group, forms) in groups {
        let _ = write!(table, "\n## {group} ({})\n\n", forms.len());
        for form in forms {
            let _ = writeln!(table, "    {form}");
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prove-forms.md");
    if std::env::var_os("CANDOR_BLESS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        known == table,
        "docs/prove-forms.md is not current; run this test with CANDOR_BLESS=1"
    );
}

/// Domain methods are in scope for the closures above.
#[allow(dead_code)]
fn _uses_domain<D: Domain>(_: D) {}

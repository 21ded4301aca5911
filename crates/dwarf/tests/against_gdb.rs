//! The same stops in gdb and here: gdb stops a real process, prints every leaf and dumps registers and memory; this
//! crate evaluates the dump. Every value that both give must be the same.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use candor_dwarf::{Leaf, Observation, PointerValue, Site, SiteOptions, Svma, Value};
use support::{Built, Fake, debug_build};

const PROGRAM: &str = r#"
#include <stdint.h>
#include <stdio.h>
struct inner { short s; unsigned char c; };
struct outer { int a; unsigned b : 3; signed int c : 5; unsigned long long d : 40; struct inner e[2]; double f; int *p; };
enum colour { RED, GREEN = 7, BLUE = -2 };
int global = 5;
static int hidden[2][3] = {{1, 2, 3}, {4, 5, 6}};
_Thread_local int thread = 99;
_Thread_local static long thread2 = -7;
static struct outer shared = {-4, 5, -6, 0x123456789aULL, {{-1, 2}, {3, 4}}, 2.5, &global};
const char text[] = "abc";
int *one_past = &hidden[1][3];
volatile int sink;
__attribute__((noinline)) void stop(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) static int leaf(int x, long unused, int y) { stop(); sink += x; stop(); return x * 3 + sink; }
static inline __attribute__((always_inline)) int square(int n, int never) {
  int twice = n + n;
  int squared = n * n;
  stop();
  sink += squared;
  return squared + (twice & 1);
}
__attribute__((noinline)) int work(int argc, const char *name, double d, struct outer by_value) {
  static int counter = 10;
  int total = argc + 1;
  unsigned char small = argc * 200;
  enum colour colour = argc > 1 ? RED : BLUE;
  int array[4] = {argc, argc * 2, argc * 3, argc * 4};
  __int128 wide = ((__int128)argc << 70) + 3;
  float f = d * 1.5f;
  _Bool flag = argc == 1;
  struct outer local = shared;
  local.a += argc;
  for (int i = 0; i < 3; i++) {
    int total = i * 7 + argc;
    stop();
    sink += total + square(i + argc, 4);
    counter++;
    array[i] += total;
  }
  stop();
  sink += leaf(total + 4, 3, small) + array[argc & 3] + (int)wide + f + flag + local.a + local.e[1].c + colour + by_value.c;
  stop();
  return total + small + name[0] + counter;
}
int main(int argc, char **argv) {
  int result = work(argc, text, argc / 4.0, shared);
  thread += result;
  thread2 += thread;
  stop();
  printf("%d %ld %d %d\n", result, thread2, global, *one_past == 0);
  return 0;
}
"#;

/// Statement addresses that are worth stopping at: a spread over all functions of the program.
fn stops(built: &Built, at_most: usize) -> Vec<Svma> {
    let all = built.image().statement_stops().unwrap();
    let step = all.len().div_ceil(at_most);
    all.iter()
        .step_by(step.max(1))
        .map(|stop| stop.pc)
        .collect()
}

fn expression(leaf: &Leaf) -> String {
    leaf.key.to_string()
}

/// One gdb session that stops once at each address.
fn gdb(built: &Built, sites: &BTreeMap<u64, Site>) -> String {
    let mut script = String::from(
        "set pagination off\nset confirm off\nset width 0\nset print symbol off\nset print repeats 0\nset print elements 0\nset style enabled off\nset startup-with-shell off\nset python print-stack none\nset max-value-size unlimited\n",
    );
    for pc in sites.keys() {
        writeln!(script, "tbreak *{pc:#x}").unwrap();
    }
    // A stop is told by its pc; the dump holds the registers, the stack and the program's data.
    script.push_str("python\nimport gdb, math, struct\nleaves = {\n");
    for (pc, site) in sites {
        writeln!(
            script,
            "{pc}: {:?},",
            site.leaves().iter().map(expression).collect::<Vec<_>>()
        )
        .unwrap();
    }
    script.push_str(
        r#"}
def number(name):
    return int(gdb.parse_and_eval(name).cast(gdb.lookup_type('unsigned long')))
def show(expression):
    try:
        value = gdb.parse_and_eval(expression)
        if value.is_optimized_out: return 'out'
        code = value.type.strip_typedefs().code
        if code == gdb.TYPE_CODE_FLT:
            if math.isnan(float(value)): return 'f7ff8000000000000'
            return 'f%x' % struct.unpack('<Q', struct.pack('<d', float(value)))[0]
        if value.type.sizeof == 16:
            wide = int(value.format_string(format='x'), 16)
            return 'i%d' % (wide - 2**128 if wide >= 2**127 else wide)
        return 'i%d' % int(value.cast(gdb.lookup_type('long')) if code == gdb.TYPE_CODE_PTR else value)
    except Exception as error:
        return 'error ' + str(error).replace('\n', ' ')
gdb.execute('run > /dev/null')
while gdb.selected_inferior().pid:
    pc = number('$pc')
    if pc in leaves:
        print('STOP %d' % pc)
        print('IN %s' % gdb.selected_frame().name())
        for n, r in enumerate('rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip'.split()):
            print('REG %d %d' % (n, number('$' + r)))
        for n in range(16):
            v = gdb.parse_and_eval('$xmm%d.v2_int64' % n)
            print('REG %d %d' % (17 + n, (int(v[1]) % 2**64 << 64) + int(v[0]) % 2**64))
        print('FS %d' % number('$fs_base'))
        stack = number('$rsp') & ~4095
        thread = number('$fs_base') & ~4095
        pages = [0x400000 + n * 4096 for n in range(8)] + [thread - 4096, thread]
        memory = b''
        for page in pages:
            try: print('MEM %d %s' % (page, gdb.selected_inferior().read_memory(page, 4096).tobytes().hex()))
            except gdb.MemoryError: pass
        for page in [stack - 4096, stack, stack + 4096, stack + 8192]:
            try: memory += gdb.selected_inferior().read_memory(page, 4096).tobytes()
            except gdb.MemoryError: pass
        print('MEM %d %s' % (stack - 4096, memory.hex()))
        for e in leaves[pc]:
            print('LEAF %s' % show(e))
        del leaves[pc]
    gdb.execute('continue')
end
"#,
    );
    let path = built.directory.path().join("script.gdb");
    std::fs::write(&path, script).unwrap();
    let output = Command::new("gdb")
        .args(["-nx", "-batch", "-x"])
        .arg(&path)
        .arg(&built.path)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A value in the words of the script; floating-point numbers by their bits as a double.
fn shown(value: &Value) -> String {
    let double = |value: f64| {
        format!(
            "f{:x}",
            if value.is_nan() { f64::NAN } else { value }.to_bits()
        )
    };
    match value {
        Value::Signed(value) => format!("i{value}"),
        Value::Unsigned(value) => format!("i{value}"),
        Value::Float { bits, size: 4 } => double(f32::from_bits(*bits as u32).into()),
        Value::Float { bits, .. } => double(f64::from_bits(*bits as u64)),
        Value::Pointer(pointer) => format!("{pointer:?}"),
        Value::Variant(name) => name.to_string(),
    }
}

fn compare(compiler: &str, level: &str, dwarf: u8) -> (usize, usize) {
    let built = debug_build(compiler, level, dwarf, PROGRAM);
    let image = built.image();
    let mut sites = BTreeMap::new();
    for pc in stops(&built, 28) {
        sites.insert(
            pc.0,
            image
                .site(
                    pc,
                    &SiteOptions {
                        leaf_cap: 12,
                        ..SiteOptions::default()
                    },
                )
                .unwrap(),
        );
    }
    let text = gdb(&built, &sites);
    let (mut machine, mut current, mut answers, mut function) =
        (Fake::default(), 0, Vec::new(), String::new());
    let (mut values, mut compared, mut stopped) = (0, 0, 0);
    let mut check = |pc: u64, function: &str, machine: &Fake, answers: &[String]| {
        let site = &sites[&pc];
        // At the first instruction of an inlined call gdb still shows the caller.
        if function != site.function {
            return;
        }
        let mut observations = Vec::new();
        image.observe(site, machine, &mut observations);
        assert_eq!(
            answers.len(),
            site.leaves().len(),
            "{compiler} {level}: gdb stopped early at {pc:#x}"
        );
        stopped += 1;
        for ((index, leaf), answer) in site.leaves().iter().enumerate().zip(answers) {
            let seen = &observations[index];
            let say = || {
                format!(
                    "{compiler} {level} dwarf {dwarf} at {pc:#x} line {:?}: {leaf:?}\n{}\nhere {seen:?}, gdb {answer}",
                    site.line,
                    image.describe_location(site, index)
                )
            };
            // gdb cannot name what an inner declaration hides.
            if leaf.shadowed
                || leaf
                    .key
                    .function
                    .as_deref()
                    .is_some_and(|function| function != site.function)
            {
                continue;
            }
            match seen {
                Observation::Value(Value::Pointer(pointer)) => {
                    let Ok(raw) = answer.trim_start_matches('i').parse::<i64>() else {
                        continue;
                    };
                    match pointer {
                        PointerValue::Null => assert_eq!(raw, 0, "{}", say()),
                        PointerValue::Opaque(address) => {
                            assert_eq!(raw as u64, *address, "{}", say())
                        }
                        PointerValue::Symbol { offset, .. } => {
                            let (name, inside) =
                                image.symbolise(Svma(raw as u64)).unwrap_or(("", u64::MAX));
                            assert!(inside == *offset || *offset > 0, "{name}: {}", say());
                        }
                        PointerValue::Literal(_) | PointerValue::Synthetic { .. } => {}
                    }
                    values += 1;
                }
                Observation::Value(value) => {
                    values += 1;
                    if answer.starts_with('i') || answer.starts_with('f') {
                        compared += 1;
                        let (here, there) = (shown(value), answer.as_str());
                        assert_eq!(here, there, "{}", say());
                    } else {
                        // gdb 13 has no 16-byte arithmetic on the DWARF stack.
                        assert!(
                            answer.contains("more than 8 bytes"),
                            "a value that gdb does not have: {}",
                            say()
                        );
                    }
                }
                Observation::OptimisedOut => {
                    // gdb shows 0 for what is past the last piece of an object.
                    let past = image.describe_location(site, index).contains("DW_OP_piece")
                        && &answer[1..] == "0";
                    assert!(
                        past || !answer.starts_with('i') && !answer.starts_with('f'),
                        "{}",
                        say()
                    );
                }
                Observation::Unreadable(why) => {
                    // gdb takes registers that a callee may overwrite for unchanged, which only inter-procedural register
                    // allocation makes true.
                    let clobbered =
                        why.starts_with("register r") && why.ends_with("cannot be read");
                    assert!(
                        clobbered || !answer.starts_with('i') && !answer.starts_with('f'),
                        "{}",
                        say()
                    );
                }
                // clang spills xmm registers and then reads them with DW_OP_deref_size 16, which the standard forbids.
                // gdb makes the result of DW_OP_plus_uconst generic, where the standard keeps its type.
                Observation::IllFormed(_) => {
                    let lenient = image
                        .describe_location(site, index)
                        .contains("DW_OP_plus_uconst");
                    assert!(lenient || answer.starts_with("error"), "{}", say());
                }
            }
        }
    };
    for line in text.lines().chain(["STOP 0"]) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "STOP" => {
                if current != 0 {
                    check(current, &function, &machine, &answers);
                }
                current = rest.parse().unwrap();
                machine = Fake::default();
                answers.clear();
            }
            "REG" => {
                let (number, value) = rest.split_once(' ').unwrap();
                machine
                    .registers
                    .insert(number.parse().unwrap(), value.parse().unwrap());
            }
            "IN" => function = rest.to_owned(),
            "FS" => machine.fs_base = Some(rest.parse().unwrap()),
            "MEM" => {
                let (start, hex) = rest.split_once(' ').unwrap();
                let bytes = (0..hex.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                    .collect();
                machine.memory.push((start.parse().unwrap(), bytes));
            }
            "LEAF" => answers.push(rest.to_owned()),
            _ => {}
        }
    }
    assert!(
        stopped >= 5,
        "{compiler} {level}: gdb stopped {stopped} times\n{text}"
    );
    (values, compared)
}

#[test]
fn gcc_agrees_with_gdb() {
    for (compiler, level, dwarf) in [
        ("gcc-12", "-O0", 5),
        ("gcc-12", "-O2", 5),
        ("gcc-11", "-Og", 4),
        ("gcc-12", "-O1", 4),
    ] {
        let (values, compared) = compare(compiler, level, dwarf);
        eprintln!("{compiler} {level} {dwarf}: {values} {compared}");
        assert!(
            compared > 100,
            "{compiler} {level}: only {compared} of {values} values compared"
        );
    }
}

#[test]
fn clang_agrees_with_gdb() {
    for (compiler, level, dwarf) in [
        ("clang-14", "-O0", 5),
        ("clang-16", "-O2", 5),
        ("clang-19", "-O1", 4),
        ("clang-19", "-O2", 5),
    ] {
        let (values, compared) = compare(compiler, level, dwarf);
        eprintln!("{compiler} {level} {dwarf}: {values} {compared}");
        assert!(
            compared > 100,
            "{compiler} {level}: only {compared} of {values} values compared"
        );
    }
}

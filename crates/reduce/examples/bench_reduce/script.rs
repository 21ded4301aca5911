//! The interestingness test a user would write by hand: compilers, gdb and sanitizers in a script.
//!
//! The peers start from the program `candor check --save` wrote (paper 000's P<s,v>, barrier calls in
//! the source), because without a barrier gdb has no place to stop that both builds share. The script
//! builds it unoptimised and optimised, lets gdb print the variable at every barrier call, and says
//! yes when some call shows another value than the unoptimised build does.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use candor_predicate::{Case, Claim};
use candor_toolchain::Compiler;

/// Writes `interesting.sh`, `look.py`, `differ.py` and the barrier for `case` into `directory`.
pub fn write(
    case: &Case,
    clang: &Compiler,
    directory: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let flags = case.program.flags.join(" ");
    let level = case.flags.join(" ");
    let here = directory.display();
    let subject = match &case.claim {
        Claim::Debug { subject, .. } => subject,
        Claim::Miscompilation {
            against, reference, ..
        } => {
            let build = format!(
                "{} {}",
                reference.as_deref().unwrap_or(&case.compiler),
                against.join(" ")
            );
            let script = wrong_code(case, clang, &build);
            return executable(directory, &script);
        }
        other => return Err(format!("no script for: {other}").into()),
    };
    let script = format!(
        r#"#!/bin/sh
# still wrong: {claim}, {compiler} {level}
{clang} {flags} -fsyntax-only -Wno-everything -Werror=uninitialized -Werror=return-type \
  -Werror=array-bounds -Werror=shift-count-overflow -Werror=shift-count-negative \
  -Werror=implicit-function-declaration -Werror=int-conversion prog.c 2>/dev/null || exit 1
grep -q '\b{variable}\b' prog.c || exit 1
{compiler} -w -g {level} {flags} -no-pie prog.c {here}/opt_me_not.c -o opt 2>/dev/null || exit 1
{compiler} -w -g -O0 {flags} -no-pie prog.c {here}/opt_me_not.c -o ref 2>/dev/null || exit 1
timeout 20 gdb -nx -batch -x {here}/look.py ref 2>/dev/null | grep '^SEEN' > ref.seen
timeout 20 gdb -nx -batch -x {here}/look.py opt 2>/dev/null | grep '^SEEN' > opt.seen
python3 {here}/differ.py || exit 1
{clang} -w {flags} -fsanitize=undefined,address -fno-sanitize-recover=all prog.c {here}/opt_me_not.c -o asan 2>/dev/null || exit 1
timeout 10 ./asan > /dev/null 2>&1 || exit 1
{clang} -w {flags} -fsanitize=memory -fno-sanitize-recover=all prog.c {here}/opt_me_not.c -o msan 2>/dev/null || exit 1
timeout 10 ./msan > /dev/null 2>&1 || exit 1
"#,
        claim = case.claim,
        compiler = case.compiler,
        clang = clang.name,
        variable = subject.root(),
    );
    let look = format!(
        r#"import gdb
gdb.execute('set width 0')
class Barrier(gdb.Breakpoint):
    def stop(self):
        frame = gdb.selected_frame().older()
        value = '<none>'
        if {global_} or frame.name() == '{function}':
            try:
                value = frame.read_var('{root}').format_string(max_elements=0, repeat_threshold=0)
            except Exception:
                pass
        print('SEEN', ' '.join(value.split()))
        return False
Barrier('opt_me_not')
gdb.execute('run > /dev/null')
"#,
        global_ = if subject.function.is_none() {
            "True"
        } else {
            "False"
        },
        function = subject.function.as_deref().unwrap_or_default(),
        root = subject.root(),
    );
    let differ = r#"import re, sys
ref = open('ref.seen').read().splitlines()
opt = open('opt.seen').read().splitlines()
if len(ref) != len(opt):
    sys.exit(1)
for a, b in zip(ref, opt):
    if '<none>' in a or '<none>' in b or '0x' in a:
        continue
    left, right = re.findall(r'[-\w<> ]+', a), re.findall(r'[-\w<> ]+', b)
    if len(left) == len(right) and any(x != y and 'optimized' not in y for x, y in zip(left, right)):
        sys.exit(0)
sys.exit(1)
"#;
    std::fs::write(directory.join("opt_me_not.c"), "void opt_me_not(void) {}\n")?;
    std::fs::write(directory.join("look.py"), look)?;
    std::fs::write(directory.join("differ.py"), differ)?;
    executable(directory, &script)
}

fn executable(directory: &Path, script: &str) -> Result<(), Box<dyn std::error::Error>> {
    let path = directory.join("interesting.sh");
    std::fs::write(&path, script)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Wrong code: the build under test prints something else than the reference, and the sanitizers,
/// which print what the reference prints, have no objection.
fn wrong_code(case: &Case, clang: &Compiler, reference: &str) -> String {
    format!(
        r#"#!/bin/sh
# still wrong: {claim}, {compiler} {level}
{clang} {flags} -fsyntax-only -Wno-everything -Werror=uninitialized -Werror=return-type \
  -Werror=array-bounds -Werror=shift-count-overflow -Werror=shift-count-negative \
  -Werror=implicit-function-declaration -Werror=int-conversion prog.c 2>/dev/null || exit 1
{reference} -w {flags} prog.c -o ref 2>/dev/null || exit 1
timeout 5 ./ref > ref.out 2>/dev/null || exit 1
{compiler} -w {level} {flags} prog.c -o bad 2>/dev/null || exit 1
timeout 5 ./bad > bad.out 2>/dev/null || exit 1
cmp -s ref.out bad.out && exit 1
{clang} -w {flags} -fsanitize=undefined,address -fno-sanitize-recover=all prog.c -o asan 2>/dev/null || exit 1
timeout 10 ./asan > asan.out 2>/dev/null || exit 1
cmp -s ref.out asan.out || exit 1
{clang} -w {flags} -fsanitize=memory -fno-sanitize-recover=all prog.c -o msan 2>/dev/null || exit 1
timeout 10 ./msan > /dev/null 2>&1 || exit 1
"#,
        claim = case.claim,
        compiler = case.compiler,
        clang = clang.name,
        level = case.flags.join(" "),
        flags = case.program.flags.join(" "),
    )
}

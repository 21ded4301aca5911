#!/usr/bin/env python3
"""Which passes of LLVM's or rustc's own are behind each finding of the Rust corpus.

    scripts/rust-triage.py OUT.jsonl tests/rust/corpus tests/rust/triage.tsv [FILTER]

OUT.jsonl is what `cargo run -p candor-check --example rust_corpus` writes. Each finding is built again with the one barrier
it needs (with all of them, as the check did, where one alone shows nothing), shown by gdb, and built without single passes
(-opt-disable, LLVM 21 and later) until gdb shows the true value or says that there is none. Where no single pass cures, all
are left out and taken back one by one while that still cures: what stays is a smallest set, since each of its passes is
needed. Then each of these is exchanged for every other pass, for the sets that cure as well.

Memory below main's frame is filled with 0xa5 before main begins, so that what was never written does not look right by
chance. Rows that are in the table already are kept. Needs no candor.
"""
import json, os, re, struct, subprocess, sys, tempfile

PASSES = ["loop-reduce", "licm", "dse", "mir:DestinationPropagation", "gvn", "early-cse", "memcpyopt", "slp-vectorizer", "loop-vectorize", "indvars",
          "isel", "loop-rotate", "tailcallelim", "jump-threading", "loop-unroll-full", "loop-unroll", "loop-idiom", "simple-loop-unswitch", "reassociate",
          "correlated-propagation", "mir:CopyProp", "mir:GVN", "mir:JumpThreading", "mir:Inline",
          # cure most of what is wrong with locations, and prove little
          "simplifycfg", "instcombine", "inline", "sroa"]
# passes of the code generator have switches of their own; instruction selection gives way to the simple one, which keeps the order
SWITCHES = {"loop-reduce": "-disable-lsr", "isel": "-fast-isel"}
FLAGS = ["--crate-name=program", "--cap-lints=allow", "-Cdebuginfo=2", "-Ccodegen-units=1", "-Coverflow-checks=off",
         "-Cdebug-assertions=off", "--edition=2021"]
BARRIER = ('#![no_std]\n#![crate_type = "lib"]\n#[unsafe(no_mangle)]\npub extern "C" fn opt_me_not() '
           '{ unsafe { core::arch::asm!("") } }\n')
COLUMNS = ["program", "function", "variable", "level", "kind", "line", "true", "shown", "location", "cause", "evidence"]
POISON = 0xa5

# -Z flags on a stable release
ENVIRONMENT = {**os.environ, "RUSTC_BOOTSTRAP": "1"}


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, **more)


class Case:
    """A finding and a program with barriers that may show it."""

    def __init__(self, folder, finding, text, ignored):
        self.folder, self.finding, self.text, self.ignored = folder, finding, text, ignored

    def without(self, passes):
        """What gdb shows of the variable when `passes` are left out; `None` if it cannot be built or gdb has no answer."""
        llvm = [name for name in passes if not name.startswith("mir:") and name not in SWITCHES]
        mir = [name.replace("mir:", "-") for name in passes if name.startswith("mir:")]
        extra = [f"-Cllvm-args=-opt-disable={','.join(llvm)}"] if llvm else []
        extra += [f"-Cllvm-args={SWITCHES[name]}" for name in passes if name in SWITCHES]
        extra += [f"-Zmir-enable-passes={','.join(mir)}"] if mir else []
        with open(f"{self.folder}/program.rs", "w") as file:
            file.write(self.text)
        made = run(["rustc", *FLAGS, f"-Copt-level={self.finding['level'].lstrip('-O')}", "-Clink-arg=opt_me_not.o", *extra,
                    "program.rs", "-o", "program"], cwd=self.folder)
        return self.show() if made.returncode == 0 else None

    def show(self):
        symbols = run(["nm", "program"], cwd=self.folder).stdout
        main = re.search(r"\b(_ZN7program4main17h\w{16}E|_RNvC\w+_7program4main)$", symbols, re.M)
        if main is None:
            return None
        fill = (f"gdb.selected_inferior().write_memory(int(gdb.parse_and_eval('$rsp')) - 16384, bytes([{POISON}]) * 16384)")
        expected = self.finding["expected"]
        # a number, of enumerations too
        form = "" if is_float(expected) else "/d" if expected.startswith("-") else "/u"
        commands = ["set pagination off", "set language c", f"break *{main[1]}", "run > /dev/null", f"python {fill}", "set language rust",
                    "break opt_me_not", f"ignore 2 {self.ignored}", "continue", "up",
                    f"print{form} {expression(self.finding['variable'])}", "kill", "quit"]
        with open(f"{self.folder}/gdb.cmds", "w") as file:
            file.write("\n".join(commands))
        said = run(["gdb", "-nx", "-batch", "-x", "gdb.cmds", "program"], cwd=self.folder)
        found = re.search(r"^\$1 = (.*)$", said.stdout, re.M)
        # a part of what is optimised out is an error
        return found[1] if found else "<optimized out>" if "optimized out" in said.stderr else None

    def is_cured(self, shown):
        return shown is not None and ("optimized out" in shown or self.is_true(shown))

    def is_true(self, shown):
        expected = self.finding["expected"]
        if is_float(expected):
            return same_float(shown, expected)
        return shown.split(" ")[0] == expected


def is_float(text):
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?|inf|-inf|NaN", text) is not None and not re.fullmatch(r"-?\d+", text)


def same_float(one, other):
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def expression(variable):
    """`r.*.x` is `(*r).x`, a variant's field is reached without its name."""
    text = re.sub(r"\.[A-Z]\w*", "", variable)
    while ".*" in text:
        before, after = text.split(".*", 1)
        text = f"(*{before}){after}"
    return text


def words(shown):
    """What gdb said, for people."""
    if "optimized out" in shown:
        return "optimised out"
    filled = bytes([POISON] * 16)
    unwritten = {str(int.from_bytes(filled[:size], "little", signed=signed)) for size in (1, 2, 4, 8, 16) for signed in (True, False)}
    floats = [struct.unpack(kind, filled[:size])[0] for kind, size in (("<f", 4), ("<d", 8))]
    near = any("." in shown and same_float(f"{value:.5e}", f"{float(shown):.5e}") for value in floats)
    return "never written" if shown in unwritten or near else shown


def with_barrier(source, line):
    lines = source.split("\n")
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    lines[line - 1] = lines[line - 1][:indent] + "crate::opt_me_not(); " + lines[line - 1][indent:]
    return "\n".join(lines) + '\nunsafe extern "C" { pub safe fn opt_me_not(); }\n'


def judge(folder, source, instrumented, finding):
    """The cause, and how it is known."""
    alone = Case(folder, finding, with_barrier(source, finding["line"]), finding["visit"] - 1)
    together = Case(folder, finding, instrumented, finding["stop"])
    case, note, bad = alone, "", alone.without([])
    if bad is None or alone.is_cured(bad):
        case, note, bad = together, "with all barriers, ", together.without([])
    if bad is None:
        return "undecided", "gdb has no word for this part"
    if case.is_cured(bad):
        return "undecided", f"right with this barrier alone and with all (gdb: {words(bad)})"
    said = f"{note}gdb: {words(bad)}"
    for name in PASSES:
        shown = case.without([name])
        if case.is_cured(shown):
            return name, f"{said}; without {name}: {words(shown)}"
    needed = list(PASSES)
    if not case.is_cured(case.without(needed)):
        return "none of these", f"{said}, without all {len(PASSES)} passes too"
    for name in reversed(PASSES):
        fewer = [other for other in needed if other != name]
        if case.is_cured(case.without(fewer)):
            needed = fewer
    evidence = f"{said}; without {' and '.join(needed)}: {words(case.without(needed))}"
    # sets of many passes prove little, exchanged or not
    others = []
    for name in needed if len(needed) == 2 else []:
        for other in PASSES:
            exchanged = [other if member == name else member for member in needed]
            if other not in needed and case.is_cured(case.without(exchanged)):
                others.append("+".join(sorted(exchanged, key=PASSES.index)))
    if others:
        evidence += f"; as well without {', '.join(dict.fromkeys(others))}"
    return "+".join(needed), evidence


def main():
    reports, corpus, table = sys.argv[1:4]
    wanted = sys.argv[4] if len(sys.argv) > 4 else ""
    done = {}
    if os.path.exists(table):
        for line in open(table).read().splitlines()[1:]:
            row = dict(zip(COLUMNS, line.split("\t")))
            done[(row["program"], row["function"], row["variable"], row["level"])] = line
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/opt_me_not.rs", "w") as file:
            file.write(BARRIER)
        run(["rustc", "--edition=2021", "-Cpanic=abort", "--emit=obj", "opt_me_not.rs", "-o", "opt_me_not.o"], cwd=folder)
        entries = [json.loads(line) for line in open(reports)]
        # one level after the other: -O3 mostly repeats -O2
        for level in ["-O1", "-O2", "-Os", "-O3"]:
            for entry, finding in ((entry, f) for entry in entries for f in entry["report"]["findings"] if f["level"] == level):
                key = (entry["program"], finding["function"] or "-", finding["variable"], finding["level"])
                if key in done or wanted not in "/".join(key):
                    continue
                source = open(f"{corpus}/{entry['program']}.rs").read()
                cause, evidence = judge(folder, source, entry["instrumented"], finding)
                cells = [*key, finding["kind"], finding["line"], finding["expected"], finding["shown"],
                         finding["location"], cause, evidence]
                done[key] = "\t".join(str(cell).replace("\t", " ") for cell in cells)
                print(done[key], flush=True)
                with open(table + ".tmp", "w") as file:
                    file.write("\n".join(["\t".join(COLUMNS), *sorted(done.values())]) + "\n")
                os.replace(table + ".tmp", table)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Which pass of LLVM's or rustc's own is behind each finding of the Rust corpus.

    scripts/rust-triage.py OUT.jsonl tests/rust/corpus tests/rust/triage.tsv [FILTER]

OUT.jsonl is what `cargo run -p candor-check --example rust_corpus` writes. Each finding is built again with the one barrier
it needs, shown by gdb, and built with single passes left out (-opt-disable, LLVM 21 and later) until gdb shows the true
value or nothing. Rows that are in the table already are kept. Needs no candor.
"""
import json, os, re, subprocess, sys, tempfile

PASSES = ["licm", "dse", "mir:DestinationPropagation", "gvn", "early-cse", "memcpyopt", "slp-vectorizer", "loop-vectorize", "indvars", "loop-reduce",
          "simplifycfg", "jump-threading", "loop-idiom", "mir:CopyProp", "mir:GVN", "mir:JumpThreading", "mir:Inline",
          # cure most of what is wrong with locations, and prove little
          "instcombine", "inline", "sroa"]
FLAGS = ["--crate-name=program", "--cap-lints=allow", "-Cdebuginfo=2", "-Ccodegen-units=1", "-Coverflow-checks=off",
         "-Cdebug-assertions=off", "--edition=2021"]
BARRIER = ('#![no_std]\n#![crate_type = "lib"]\n#[unsafe(no_mangle)]\npub extern "C" fn opt_me_not() '
           '{ unsafe { core::arch::asm!("") } }\n')
COLUMNS = ["program", "function", "variable", "level", "kind", "line", "true", "shown", "location", "cause", "evidence"]


# -Z flags on a stable release
ENVIRONMENT = {**os.environ, "RUSTC_BOOTSTRAP": "1"}


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT, **more)


def build(folder, text, level, extra):
    with open(f"{folder}/program.rs", "w") as file:
        file.write(text)
    made = run(["rustc", *FLAGS, f"-Copt-level={level.lstrip('-O')}", "-Clink-arg=opt_me_not.o", *extra, "program.rs",
                "-o", "program"], cwd=folder)
    return made.returncode == 0


def show(folder, finding):
    """What gdb prints of the variable at that visit."""
    commands = ["set pagination off", "set language rust", "break opt_me_not", f"ignore 1 {finding['visit'] - 1}",
                "run > /dev/null", "up", f"print {expression(finding['variable'])}", "kill", "quit"]
    with open(f"{folder}/gdb.cmds", "w") as file:
        file.write("\n".join(commands))
    said = run(["gdb", "-nx", "-batch", "-x", "gdb.cmds", "program"], cwd=folder)
    found = re.search(r"^\$1 = (.*)$", said.stdout, re.M)
    return found.group(1) if found else None


def expression(variable):
    """`r.*.x` is `(*r).x`, a variant's field is reached without its name."""
    text = re.sub(r"\.[A-Z]\w*", "", variable)
    while ".*" in text:
        before, after = text.split(".*", 1)
        text = f"(*{before}){after}"
    return text


def agrees(shown, expected):
    return shown is not None and shown.split(" ")[0] == expected


def judge(folder, source, finding):
    lines = source.split("\n")
    at = finding["line"] - 1
    indent = len(lines[at]) - len(lines[at].lstrip())
    lines[at] = lines[at][:indent] + "crate::opt_me_not(); " + lines[at][indent:]
    text = "\n".join(lines) + '\nunsafe extern "C" { pub safe fn opt_me_not(); }\n'
    level = finding["level"]
    if not build(folder, text, level, []):
        return "undecided", "the barrier cannot stand alone on its line"
    bad = show(folder, finding)
    if bad is None:
        return "undecided", "gdb has no word for this part"
    if agrees(bad, finding["expected"]) or "optimized out" in bad:
        return "undecided", f"right with this barrier alone (gdb: {bad})"
    for name in PASSES:
        flag = f"-Cllvm-args=-opt-disable={name}"
        if name.startswith("mir:"):
            flag = f"-Zmir-enable-passes=-{name.removeprefix('mir:')}"
        if not build(folder, text, level, [flag]):
            continue
        shown = show(folder, finding)
        if agrees(shown, finding["expected"]):
            return name, f"gdb: {bad}; without {name}: {shown}"
        if shown is not None and "optimized out" in shown:
            return name, f"gdb: {bad}; without {name}: optimised out"
    return "none of these", f"gdb: {bad}, with each of {len(PASSES)} passes left out too"


def main():
    reports, corpus, table = sys.argv[1:4]
    wanted = sys.argv[4] if len(sys.argv) > 4 else ""
    done = {}
    if os.path.exists(table):
        for line in open(table).read().splitlines()[1:]:
            row = dict(zip(COLUMNS, line.split("\t")))
            done[(row["program"], row["function"], row["variable"], row["level"])] = line
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/opt_me_not.rs", "w") as file:
            file.write(BARRIER)
        run(["rustc", "--edition=2021", "-Cpanic=abort", "--emit=obj", "opt_me_not.rs", "-o", "opt_me_not.o"], cwd=folder)
        entries = [json.loads(line) for line in open(reports)]
        # one level after the other: -O3 mostly repeats -O2
        for level in ["-O1", "-O2", "-Os", "-O3"]:
            for entry, finding in ((entry, f) for entry in entries for f in entry["report"]["findings"] if f["level"] == level):
                source = open(f"{corpus}/{entry['program']}.rs").read()
                key = (entry["program"], finding["function"] or "-", finding["variable"], finding["level"])
                if key not in done and wanted in "/".join(key):
                    cause, evidence = judge(folder, source, finding)
                    cells = [*key, finding["kind"], finding["line"], finding["expected"], finding["shown"],
                             finding["location"], cause, evidence]
                    done[key] = "\t".join(str(cell).replace("\t", " ") for cell in cells)
                    print(done[key], flush=True)
                if key in done:
                    rows.append(done[key])
                with open(table + ".tmp", "w") as file:
                    file.write("\n".join(["\t".join(COLUMNS), *sorted(set(rows) | set(done.values()))]) + "\n")
                os.replace(table + ".tmp", table)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""recall.py CANDOR [DIR] [candor check's options]: how many wrong values of programs written after public reports a plain `candor check` finds.

For each program and the first build of its `shows:` lines: found if a finding is about the variable. Prints a line per
program with the rounds that show it, and the share at the end."""
import json
import pathlib
import re
import subprocess
import sys

candor = sys.argv[1]
rest = sys.argv[2:]
here = pathlib.Path(__file__).resolve().parent.parent / "tests/check/recall"
folder = pathlib.Path(rest.pop(0)) if rest and not rest[0].startswith("-") else here
SHOWS = re.compile(r"// shows: (.+?) line (\d+) expected (.+?) shown (.+?) in (\S+)")


def root(name):
    return re.split(r"[.\[]", name.lstrip("*(&"))[0]


found = total = 0
for path in sorted(folder.glob("*.c")):
    wanted = SHOWS.search(path.read_text())
    if not wanted:
        continue
    total += 1
    variable, line, _, _, build = wanted.groups()
    compiler, level = build.split(":")
    command = [candor, "check", str(path), "--cc", compiler, level, "--json", *rest]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(run.stdout)
    except ValueError:
        print(f"ERROR   {path.name}: {run.stderr.strip()[:200]}", flush=True)
        continue
    about = [f for f in report["findings"] if root(f["variable"]) == root(variable)]
    others = sorted({f"{f['kind']} {f['variable']}" for f in report["findings"] if f not in about})
    open_ = [u["reason"] for u in report["undecided"]]
    found += bool(about)
    rounds = ",".join(sorted({r for f in about for r in f["rounds"]}))
    print(
        f"{'found  ' if about else 'MISSED '} {path.name:44} {build:14} {variable} [{rounds}]"
        + (f" others: {others}" if others else "")
        + (f" undecided: {open_[:2]}" if open_ else ""),
        flush=True,
    )
print(f"{found} of {total} found")

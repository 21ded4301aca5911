#!/usr/bin/env python3
"""rounds.py CANDOR OUT.jsonl COUNT [LEVEL ...]: what each round of `candor check` finds, and what it costs.

Checks COUNT Csmith programs (seeds from 1 on, those that are fit) and the ordinary programs of tests/mutate/ordinary
with clang-19 and gcc-12, one JSON line per program in OUT.jsonl, which is continued where it is there already. Then prints
the tables of docs/check.md. `rounds.py --tables OUT.jsonl` prints them again."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROUNDS = ["quiet", "sparse", "all"]
CSMITH = "--no-packed-struct --max-funcs 5 --max-block-depth 4 --max-expr-complexity 6".split()


def check(candor, name, path, levels, flags):
    command = [candor, "check", path, "--cc", "clang-19", "--cc", "gcc-12", "--json", "--jobs", "1", *levels, *flags]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=900)
        report = json.loads(run.stdout)
    except subprocess.TimeoutExpired:
        return {"program": name, "refused": "more than 900 s"}
    except ValueError:
        return {"program": name, "refused": run.stderr.strip()[-300:]}
    return {
        "program": name,
        "rounds": report["rounds"],
        "points": report["points"],
        "reached": report["reached"],
        "lines": report["lines"],
        "summary": report["summary"],
        "undecided": report["undecided"],
        "findings": [
            {key: f[key] for key in ("kind", "function", "variable", "declared", "line", "compiler", "level", "expected", "shown", "location", "rounds", "round")}
            for f in report["findings"]
        ],
    }


def variables(records, kinds=None):
    """(program, compiler, variable) -> rounds that show it."""
    found = {}
    for record in records:
        for f in record.get("findings", []):
            if kinds and f["kind"] not in kinds:
                continue
            root = re.split(r"[.\[]", f["variable"])[0]
            key = (record["program"], f["compiler"], f["function"], root, f["declared"])
            found.setdefault(key, set()).update(f["rounds"])
    return found


def tables(records):
    fit = [r for r in records if "rounds" in r]
    print(f"{len(fit)} programs checked, {len(records) - len(fit)} refused; "
          f"{sum('findings' in r and bool(r['findings']) for r in fit)} with findings, "
          f"{sum(len(r['undecided']) for r in fit)} undecided\n")
    found = variables(fit)
    print("| round | builds | CPU minutes | values compared | distinct wrong variables | only here | per CPU minute |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in ROUNDS:
        rows = [row for r in fit for row in r["rounds"] if row["round"] == name]
        minutes = sum(row["seconds"] for row in rows) / 60
        here = [rounds for rounds in found.values() if name in rounds]
        alone = [rounds for rounds in here if rounds == {name}]
        compared = sum(row["equal"] + row["wrong"] + row["ill_formed"] for row in rows)
        rate = len(here) / minutes if minutes else 0
        print(f"| {name} | {sum(row['builds'] for row in rows):,} | {minutes:.1f} | {compared:,} | {len(here)} | {len(alone)} | {rate:.1f} |")
    print(f"\n{len(found)} distinct wrong variables in all\n")
    print("| shown by | distinct variables |\n| --- | --- |")
    sets = {}
    for rounds in found.values():
        sets.setdefault(tuple(r for r in ROUNDS if r in rounds), []).append(1)
    for rounds, count in sorted(sets.items(), key=lambda item: -len(item[1])):
        print(f"| {' + '.join(rounds)} | {len(count)} |")
    reached = sum(r["reached"] for r in fit)
    left = sum(row["left_out"] for r in fit for row in r["rounds"] if row["round"] == "sparse")
    print(f"\n{reached:,} points reached, {left:,} without a turn in the sparse round")


def main():
    if sys.argv[1] == "--tables":
        return tables([json.loads(line) for line in open(sys.argv[2])])
    candor, out, count, *levels = sys.argv[1:]
    levels = levels or ["-O2"]
    root = pathlib.Path(__file__).resolve().parent.parent
    known = [json.loads(line) for line in open(out)] if os.path.exists(out) else []
    names = {r["program"] for r in known}
    ordinary = [p for p in sorted((root / "tests/mutate/ordinary").glob("*.c")) if p.name not in names]
    with tempfile.TemporaryDirectory() as scratch, open(out, "a") as lines, ThreadPoolExecutor(2) as pool:

        def csmith(seed):
            name = f"csmith {seed}"
            path = f"{scratch}/s{seed}.c"
            with open(path, "w") as file:
                subprocess.run(["csmith", "--seed", str(seed), *CSMITH], stdout=file, check=True)
            if os.path.getsize(path) < 5000:
                return {"program": name, "refused": "small"}
            return check(candor, name, path, levels, ["--", "-I/usr/include/csmith"])

        def keep(record):
            known.append(record)
            lines.write(json.dumps(record) + "\n")
            lines.flush()

        for record in pool.map(lambda p: check(candor, p.name, str(p), levels, []), ordinary):
            keep(record)
        seeds = (s for s in range(1, 10**6) if f"csmith {s}" not in names)
        while sum("rounds" in r and r["program"].startswith("csmith") for r in known) < int(count):
            batch = [next(seeds) for _ in range(4)]
            for record in pool.map(csmith, batch):
                keep(record)
    tables(known)


main()

#!/usr/bin/env python3
"""bench_rounds.py CANDOR [RUNS]: what a check costs against compiling the program once, and a quiet round against one with all
barriers, in one run, interleaved. Programs: Csmith's with 90 to 110 points (seeds from 1 on), one compiler, -O2."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

candor, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
CSMITH = "--no-packed-struct --max-funcs 5 --max-block-depth 4 --max-expr-complexity 6".split()
INCLUDE = "-I/usr/include/csmith"


def timed(command):
    """Seconds on the wall, and of processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    out = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


with tempfile.TemporaryDirectory() as scratch:
    programs, seed = [], 0
    while len(programs) < 3:
        seed += 1
        path = f"{scratch}/s{seed}.c"
        with open(path, "w") as file:
            subprocess.run(["csmith", "--seed", str(seed), *CSMITH], stdout=file, check=True)
        if not 8000 < os.path.getsize(path) < 40000:
            continue
        out = timed([candor, "check", path, "--cc", "gcc-12", "-O1", "--points", "all", "--json", "--", INCLUDE])[2]
        try:
            report = json.loads(out.stdout)
        except ValueError:
            continue
        if 90 <= report["points"] <= 110:
            programs.append((seed, path, report["points"]))
    for compiler in ["clang-19", "gcc-12"]:
        for seed, path, points in programs:
            check = [candor, "check", path, "--cc", compiler, "-O2", "--json"]
            commands = {
                "compile": [compiler, "-O2", "-g", "-w", INCLUDE, path, "-o", f"{scratch}/out"],
                "quiet": [*check, "--points", "none", "--", INCLUDE],
                "all": [*check, "--points", "all", "--", INCLUDE],
                "quick": [*check, "--effort", "quick", "--", INCLUDE],
                "normal": [*check, "--", INCLUDE],
            }
            times = {name: [] for name in commands}
            found = {}
            for _ in range(runs):
                for name, command in commands.items():
                    wall, cpu, out = timed(command)
                    times[name].append((wall, cpu))
                    if name != "compile":
                        found[name] = len(json.loads(out.stdout)["findings"])
            wall = {name: statistics.median(t[0] for t in all) for name, all in times.items()}
            ratios = ", ".join(f"{name} {wall[name] / wall['compile']:.1f} times ({found[name]} findings)" for name in list(commands)[1:])
            print(
                f"{compiler} csmith {seed}, {points} points: compiling {wall['compile']:.2f} s; {ratios}; "
                f"quiet/all {wall['quiet'] / wall['all']:.2f}",
                flush=True,
            )

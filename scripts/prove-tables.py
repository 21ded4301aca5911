#!/usr/bin/env python3
"""Makes the tables of docs/prove.md and docs/repair.md from the folder that scripts/prove-tables.sh filled.

usage: scripts/prove-tables.py FOLDER prove|repair
"""
import collections
import pathlib
import re
import sys

COMPILERS = ["gcc-12", "clang-19"]
LEVELS = {"O1": "-O1", "O2": "-O2", "sse": "-O3 SSE4.2", "avx": "-O3 AVX2"}
LINE = re.compile(
    r"(\S+)\s+(proved|undecided|DIFFERENT)\s+([\d.]+) s\s+([\d.]+) s cpu\s+(\d+) queries\s+([\d.]+) s solver\s+(\d+) MB\s+(.*)"
)
REASONS = [
    ("the compiler reordered the stores", "several rows at once, or a store moved"),
    ("was never taken in any run", "a path that no run took"),
    ("memory at", "a memory cell not shown equal"),
    ("the returned values", "results not shown equal"),
    ("which the source does not call", "the loop is a call (memcpy, strlen, ...)"),
    ("leaves the function", "the compiler split a part off"),
    ("time limit", "time limit"),
    ("may return where", "the ways out not shown equal"),
    ("goes on", "the ways out not shown equal"),
]


def kernels(folder, source):
    """By build, by function: verdict, processor seconds, questions, megabytes, reason."""
    builds = {}
    for compiler in COMPILERS:
        for level in LEVELS:
            path = folder / f"kernels-{compiler}-{source}-{level}.txt"
            if not path.exists():
                continue
            found = {}
            for line in path.read_text().splitlines():
                match = LINE.match(line)
                if match:
                    name, verdict, _, cpu, asked, _, memory, why = match.groups()
                    found[name] = (verdict, float(cpu), int(asked), int(memory), why)
            builds[compiler, level] = found
    return builds


def prove(folder):
    for source in ["tsvc", "own"]:
        builds = kernels(folder, source)
        names = list(dict.fromkeys(name for found in builds.values() for name in found))
        print(f"\n`tests/prove/{source}.c`:\n")
        print("| function | " + " | ".join(f"{c} {LEVELS[l]}" for c, l in builds) + " |")
        print("| --- |" + " --- |" * len(builds))
        for name in names:
            cells = []
            for found in builds.values():
                if name not in found:
                    cells.append("")
                else:
                    verdict, cpu, asked, _, _ = found[name]
                    cells.append(f"{cpu:.1f} s, {asked}" if verdict == "proved" else verdict)
            print(f"| {name} | " + " | ".join(cells) + " |")
        totals = []
        for found in builds.values():
            good = sum(one[0] == "proved" for one in found.values())
            seconds = sum(one[1] for one in found.values())
            memory = max((one[3] for one in found.values()), default=0)
            totals.append(f"**{good} of {len(found)}**, {seconds:.0f} s, {memory} MB")
        print("| **proved**, seconds of all, most memory | " + " | ".join(totals) + " |")
        print("\n| build | why undecided | functions |\n| --- | --- | --- |")
        for (compiler, level), found in builds.items():
            reasons = collections.defaultdict(list)
            for name, (verdict, _, _, _, why) in found.items():
                if verdict != "proved":
                    word = next((says for sign, says in REASONS if sign in why), why[:60])
                    reasons[word].append(name)
            for word, which in reasons.items():
                print(f"| {compiler} {LEVELS[level]} | {word} | {' '.join(which)} |")
        for (compiler, level), found in builds.items():
            slow = [f"{name} {one[1]:.1f}" for name, one in found.items() if one[0] == "proved" and one[1] > 2]
            if slow:
                print(f"\nMore than 2 s, {compiler} {LEVELS[level]}: {', '.join(slow)}.")


def repair(folder):
    for path in sorted(folder.glob("repair-*.txt")):
        rows, ablation, walked, other = [], collections.defaultdict(list), [], []
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) == 15 and words[1].isdigit():
                rows.append(words)
            elif words[:1] == ["ablation"]:
                ablation[words[2]].append([int(word) for word in words[3:6]])
            elif "|" in line and words[1:2] and words[1].isdigit():
                numbers = [[int(word) for word in part.split()[:3]] for part in line.split("|")[1:3]]
                walked.append((words[0], numbers))
            elif not line.startswith("  proof") and words[:1] != ["function"]:
                other.append(line)
        if not rows:
            continue
        print(f"\n{path.stem}:\n")
        print("| loop | T | U | V | O | M | I | M % | I % | removed | exact | lanes | within | none | s |\n" + "| --- " * 15 + "|")
        for words in rows:
            print("| " + " | ".join(words) + " |")
        count = len(rows)
        total = [sum(float(words[column]) for words in rows) for column in range(1, 15)]
        print(
            f"\n{count} loops: U {100 * total[1] / total[0]:.0f} % of T; missing added on average at {total[6] / count:.0f} % of the"
            f" instructions, constants corrected at {total[7] / count:.0f} %; precision: {total[9]:.0f} exact, {total[10]:.0f} within lanes,"
            f" {total[11]:.0f} within an iteration, {total[12]:.0f} none."
        )
        print("Ablation, averages of U, M, I: " + "; ".join(
            f"{step} " + ", ".join(f"{sum(one[i] for one in found) / len(found):.1f}" for i in range(3))
            for step, found in ablation.items()
        ))
        for when, index in [("before", 0), ("after", 1)]:
            right, wrong, none = (sum(one[1][index][i] for one in walked) for i in range(3))
            print(f"Walked {len(walked)} functions, {when}: {right} right, {wrong} wrong, {none} no value.")
        for line in other:
            print("    " + line)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("prove", "repair"):
        sys.exit(__doc__)
    {"prove": prove, "repair": repair}[sys.argv[2]](pathlib.Path(sys.argv[1]))

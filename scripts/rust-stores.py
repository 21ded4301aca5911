#!/usr/bin/env python3
"""Whether the passes named in tests/rust/triage.tsv take stores away from the variables that findings are about.

    scripts/rust-stores.py tests/rust/corpus tests/rust/triage.tsv

For each finding that dse, licm or both cure (references left out: the memory is another variable's), counts the stores to the variable's stack slot in
rustc's optimised IR, in all and within loops, with every pass and without these. Prints a line per finding: fewer, or not.
"""
import collections, importlib.util, os, re, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("triage", f"{HERE}/rust-triage.py")
TRIAGE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TRIAGE)

NAME = r"[\w.$\"-]+"


def functions(ir):
    """The blocks (label to lines) of each function with a barrier in it."""
    for text in re.split(r"(?m)^define ", ir)[1:]:
        body = text.split("\n}")[0]
        if "opt_me_not()" not in body:
            continue
        blocks, label = {"start": []}, "start"
        for line in body.split("\n")[1:]:
            begun = re.match(rf"({NAME}):", line)
            if begun:
                label = begun[1]
                blocks[label] = []
            else:
                blocks[label].append(line)
        yield blocks


def in_loop(label, following):
    seen, waiting = set(), list(following[label])
    while waiting:
        here = waiting.pop()
        if here == label:
            return True
        if here not in seen:
            seen.add(here)
            waiting += following.get(here, [])
    return False


def places(lines, variable):
    """The slot of the variable (of each inlined copy of it), and addresses within it."""
    text = "\n".join(lines)
    found = set(re.findall(rf"%({re.escape(variable)}(?:\.i\d*)*) = alloca", text))
    while True:
        more = set(re.findall(rf"%({NAME}) = getelementptr[^\n]*ptr %(?:{'|'.join(map(re.escape, found))})(?:,|\n)", text)) if found else set()
        if more <= found:
            return found
        found |= more


def is_store(line, slots):
    stored = re.search(rf"^\s+store .*, ptr %({NAME})(?:,|$)", line)
    if stored:
        return stored[1] in slots
    filled = re.search(rf"@llvm\.mem(?:cpy|set|move)[^(]*\(ptr[^,]* %({NAME}),", line)
    return filled is not None and filled[1] in slots


def stores(ir, variable):
    """Stores to the variable, and those within loops."""
    total = within = 0
    for blocks in functions(ir):
        slots = places([line for lines in blocks.values() for line in lines], variable)
        following = {label: re.findall(rf"label %({NAME})", "\n".join(lines)) for label, lines in blocks.items()}
        for label, lines in blocks.items():
            count = sum(is_store(line, slots) for line in lines)
            total += count
            within += count if count and in_loop(label, following) else 0
    return total, within


def main():
    corpus, table = sys.argv[1:3]
    fewer = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for line in open(table).read().splitlines()[1:]:
            row = dict(zip(TRIAGE.COLUMNS, line.split("\t")))
            if row["cause"] not in ("dse", "licm", "licm+dse") or row["kind"] == "wrong-referent":
                continue
            with open(f"{folder}/program.rs", "w") as file:
                file.write(TRIAGE.with_barrier(open(f"{corpus}/{row['program']}.rs").read(), int(row["line"])))
            counts = []
            for passes in ("", row["cause"].replace("+", ",")):
                left_out = [f"-Cllvm-args=-opt-disable={passes}"] if passes else []
                TRIAGE.run(["rustc", *TRIAGE.FLAGS, f"-Copt-level={row['level'].lstrip('-O')}", "-Zfewer-names=no", "--emit=llvm-ir",
                            *left_out, "program.rs", "-o", "program.ll"], cwd=folder)
                counts.append(stores(open(f"{folder}/program.ll").read(), re.split(r"[.\[]", row["variable"])[0]))
            (all_with, loop_with), (all_without, loop_without) = counts
            verdict = "fewer" if all_with < all_without or loop_with < loop_without else "NOT FEWER"
            fewer[row["cause"], verdict] += 1
            print(f"{row['program']} {row['function']} {row['variable']} {row['level']}: {all_with} stores ({loop_with} in loops), without "
                  f"{row['cause']} {all_without} ({loop_without}): {verdict}", flush=True)
    for (cause, verdict), count in sorted(fewer.items()):
        print(f"{cause}: {count} {verdict}")


if __name__ == "__main__":
    main()

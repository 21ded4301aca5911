#!/usr/bin/env python3
"""Writes the tables that lead from a compiler's pass to its source files.

    scripts/pass-tables.py gcc  GCC-SOURCE/gcc...    > crates/isolate/data/gcc.tsv
    scripts/pass-tables.py llvm LLVM-SOURCE/llvm...  > crates/isolate/data/llvm.tsv

Several source trees may be given: what the first lacks is taken from the next.
`scripts/compiler-sources.sh` fetches such trees (Debian's source packages). Nothing of the sources
themselves is kept: only which name is registered in which file.

gcc rows:   pass     NAME     FILE helpers...        from the pass_data objects (NAME is `tree-ivopts`)
            option   -fX      FILE...                files that read the option's variable (*.opt)
            gates    -fX      PASS...                passes whose gate reads the option's variable
            counter  NAME     FILE...                files that ask the debug counter (dbg_cnt)
llvm rows:  pass     NAME     ARGUMENT FILE          NAME is what -opt-bisect-limit prints: a class or a title
The files of a pass beyond the one that registers it come from who calls whose functions: see `files_of`.
"""
import collections
import os
import re
import sys

LARGEST_SHARE = 3  # a function called from more files than this is shared infrastructure
SMALLEST_BOND = 3  # a close helper lends at least so many functions to a pass,
CLOSE = 0.25  # and at least this share of what it lends at all
MOST_CLIENTS = 20  # a file with more clients than this is infrastructure, not a worker
REGISTRY = 5  # a file that registers so many passes with workers elsewhere does none of the work
MOST_FILES = 8
MOST_OPTION_FILES = 4


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


# ---- gcc ---------------------------------------------------------------------------------------

KINDS = {"GIMPLE_PASS": "tree", "RTL_PASS": "rtl", "IPA_PASS": "ipa", "SIMPLE_IPA_PASS": "ipa"}
PASS = re.compile(r"const\s+pass_data\s+(?:pass_data_)?([\w<>:]+)\s*=\s*\{\s*(\w+_PASS)\s*,\s*(?:\w+ \? \"[^\"]*\" : )?\"([^\"]+)\"")


# Drivers of the whole compilation, options, dumping, memory: no pass's own work.
INFRASTRUCTURE = re.compile(
    r"^(opts|toplev|main|lto|plugin|passes|ggc|statistics|timevar|alloc-pool|data-streamer|graph\.|dumpfile|"
    r"tree-dump|cgraphunit|targhooks|domwalk|sbitmap|lists|lcm|graphds|.*-dump\.|config/i386/i386-options)")


def gcc_files(root):
    """The middle end and the x86 back end: base name (with directory below gcc/) -> text."""
    found = {}
    for below in ("", "config/i386"):
        directory = os.path.join(root, below)
        for name in sorted(os.listdir(directory)):
            if name.endswith((".cc", ".c")) and not name.startswith("gen"):
                path = os.path.join(below, name)
                found[path] = without_comments(read(os.path.join(root, path)))
    return found


def exported(text):
    """Functions that other files can call: GNU style puts the name in column 0, `static` above it."""
    names = set()
    for match in re.finditer(r"^([^\n]*)\n(\w+) \(", text, re.M):
        if "static" not in match.group(1) and match.group(1).strip():
            names.add(match.group(2))
    return names


class Calls:
    """Who calls whose functions, from the text alone."""

    def __init__(self, files):
        self.files = files
        self.owner = {}
        for path, text in files.items():
            for name in exported(text):
                self.owner.setdefault(name, path)
        self.users = collections.defaultdict(set)
        for path, text in files.items():
            for name in called(text):
                if self.owner.get(name, path) != path:
                    self.users[name].add(path)
        self.clients = collections.defaultdict(set)
        for name, callers in self.users.items():
            self.clients[self.owner[name]] |= callers
        lent = collections.Counter(self.owner[name] for name in self.users)
        bonds = collections.Counter()
        for name, callers in self.users.items():
            if len(callers) <= LARGEST_SHARE:
                for caller in callers:
                    bonds[caller, self.owner[name]] += 1
        self.close = collections.defaultdict(list)
        for (caller, other), count in sorted(bonds.items(), key=lambda item: (-item[1], item[0])):
            if count >= SMALLEST_BOND and count >= CLOSE * lent[other]:
                self.close[caller].append(other)

    def workers(self, span):
        """Files to which a pass hands its work: they own a function that it calls and hardly anyone else."""
        found = []
        for name in called(span):
            path = self.owner.get(name)
            users = len(self.users[name])
            most = MOST_CLIENTS if users == 1 else MOST_CLIENTS // 2
            if not path or INFRASTRUCTURE.match(path):
                continue
            if users <= 2 and len(self.clients[path]) <= most and path not in found:
                found.append(path)
        return found

    def private(self, roots, pass_files):
        """Files without a pass of their own whose clients are `roots` and each other (and one more)."""
        mine = {path for path in self.files if not INFRASTRUCTURE.match(path)}
        mine -= set(pass_files) | set(roots)
        while True:
            inside = mine | set(roots)
            gone = {path for path in mine
                    if not self.clients[path] or len(self.clients[path] - inside) > 1
                    or not self.clients[path] & inside}
            if not gone:
                break
            mine -= gone
        # only what hangs together with the roots
        reached, front = [], list(roots)
        while front:
            user = front.pop(0)
            for path in sorted(mine):
                if path not in reached and user in self.clients[path]:
                    reached.append(path)
                    front.append(path)
        return reached


def called(text):
    return sorted(set(re.findall(r"\b(\w+) \(", text)))


def files_of(calls, path, span, pass_files):
    """The files of one pass, the likeliest first: where the work is, where it is registered, its helpers."""
    workers = calls.workers(span)
    roots = [path] + [one for one in workers if one not in pass_files]
    result = roots + [one for one in workers if one not in roots]
    if pass_files[path] >= REGISTRY and len(roots) > 1:
        roots = roots[1:]  # loop-init.cc and the like only register what others do
        result = roots + [path]
    for root in roots:
        result += [one for one in calls.close[root]
                   if one not in result and not INFRASTRUCTURE.match(one)]
    result += [one for one in calls.private(roots, pass_files) if one not in result]
    return result[:MOST_FILES]


def option_variables(root):
    """`flag_ivopts` -> {`-fivopts`}"""
    variables = collections.defaultdict(set)
    for path in ("common.opt", "config/i386/i386.opt"):
        for record in re.split(r"\n\s*\n", read(os.path.join(root, path))):
            lines = [line for line in record.split("\n") if not line.startswith(";")]
            if len(lines) > 1 and re.fullmatch(r"f[\w-]+", lines[0]):
                variable = re.search(r"\bVar\((\w+)", lines[1])
                name = variable.group(1) if variable else "flag_" + lines[0][1:].replace("-", "_")
                variables[name].add("-" + lines[0])
    return variables




def gcc(root):
    rows = []
    files = gcc_files(root)
    passes = {}
    spans = {}
    classes = {}
    for path, text in files.items():
        matches = list(PASS.finditer(text))
        for number, match in enumerate(matches):
            kind = KINDS.get(match.group(2))
            name = match.group(3)
            if kind is None or name.startswith("*"):
                continue
            name = f"{kind}-{name}"
            passes.setdefault(name, path)
            classes.setdefault(name, match.group(1))
            end = matches[number + 1].start() if number + 1 < len(matches) else len(text)
            span = text[match.start():end]
            # the class, up to the factory function behind it
            spans[name] = span.split("make_pass_")[0]
    calls = Calls(files)
    pass_files = collections.Counter(passes.values())
    for name, path in sorted(passes.items()):
        body = work_of(files[path], spans[name], classes[name])
        rows.append(("pass", name, " ".join(files_of(calls, path, body, pass_files))))
    variables = option_variables(root)
    readers = collections.defaultdict(set)
    for path, text in files.items():
        if not INFRASTRUCTURE.match(path):
            for variable in set(re.findall(r"\bflag_\w+", text)) & set(variables):
                readers[variable].add(path)
    for variable, options in sorted(variables.items()):
        gates = [name for name, span in sorted(spans.items())
                 if re.search(r"\b%s\b" % variable, gate_of(span))]
        for option in sorted(options):
            if 0 < len(readers[variable]) <= MOST_OPTION_FILES:
                rows.append(("option", option, " ".join(sorted(readers[variable]))))
            if gates:
                rows.append(("gates", option, " ".join(gates)))
    counters = collections.defaultdict(set)
    known = set(re.findall(r"DEBUG_COUNTER \((\w+)\)", read(os.path.join(root, "dbgcnt.def"))))
    for path, text in files.items():
        for name in re.findall(r"\bdbg_cnt \((\w+)\)", text):
            if name in known:
                counters[name].add(path)
    for name, where in sorted(counters.items()):
        rows.append(("counter", name, " ".join(sorted(where))))
    return rows


def work_of(text, span, name):
    """The pass's execute method and the functions of its file that this calls (GNU style ends a
    function with } in column 0)."""
    inside = re.search(r"\bexecute \(function.*", span, re.S)
    outside = re.findall(r"^pass_%s::execute \(.*?^}" % re.escape(name), text, re.M | re.S)
    work = "\n".join(([inside.group(0)] if inside else []) + outside)
    for callee in called(work):
        work += "\n".join(re.findall(r"^%s \(.*?^}" % callee, text, re.M | re.S))
    return work


def gate_of(span):
    match = re.search(r"\bgate \(.*?(?=\bexecute \()", span, re.S)
    return match.group(0) if match else ""


# ---- llvm --------------------------------------------------------------------------------------

INITIALIZE = re.compile(
    r"INITIALIZE_PASS(?:_BEGIN|_WITH_OPTIONS)?\s*\(\s*(\w+)\s*,\s*((?:\"[^\"]*\"|\w+))\s*,\s*((?:\"[^\"]*\"\s*)+|\w+)")
TITLE = re.compile(r"getPassName\(\)\s*const\s*(?:override)?\s*\{\s*return\s*((?:\"[^\"]*\"\s*)+|\w+)\s*;")
RUN = re.compile(r"^(?:PreservedAnalyses|llvm::PreservedAnalyses)\s+(?:llvm::)?(\w+)(?:<[^>]*>)?::run\s*\(", re.M)
REGISTERED = re.compile(r"^\w+_PASS(?:_WITH_PARAMS)?\s*\(\s*\"([^\"]+)\"\s*,\s*(?:\"(\w+)\"|(\w+))", re.M)


def string(word, defines):
    parts = re.findall(r"\"([^\"]*)\"", word)
    return "".join(parts) if parts else defines.get(word.strip(), "")


def llvm(root):
    arguments = {}
    for match in REGISTERED.finditer(without_comments(read(os.path.join(root, "lib/Passes/PassRegistry.def")))):
        arguments.setdefault(match.group(2) or match.group(3), match.group(1))
    rows = {}
    for directory, _, names in sorted(os.walk(os.path.join(root, "lib"))):
        below = os.path.relpath(directory, root)
        if "/Target/" in f"/{below}/" and not re.search(r"Target(/X86)?$", below):
            continue
        for name in sorted(names):
            if not name.endswith(".cpp"):
                continue
            text = without_comments(read(os.path.join(directory, name)))
            path = os.path.join(below, name).removeprefix("lib/")
            defines = dict(re.findall(r"#define\s+(\w+)\s+\"([^\"]*)\"", text))
            for match in RUN.finditer(text):
                rows.setdefault(match.group(1), (arguments.get(match.group(1), ""), path))
            registered = {}
            for match in INITIALIZE.finditer(text):
                argument, title = string(match.group(2), defines), string(match.group(3), defines)
                registered[match.group(1)] = argument
                if title:
                    rows.setdefault(title, (argument, path))
            for match in TITLE.finditer(text):
                title = string(match.group(1), defines)
                if title:
                    argument = next(iter(registered.values()), "") if len(registered) == 1 else ""
                    rows.setdefault(title, (argument, path))
    return [("pass", name, f"{argument or '-'} {path}") for name, (argument, path) in sorted(rows.items())]


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("gcc", "llvm"):
        sys.exit(__doc__)
    make = gcc if sys.argv[1] == "gcc" else llvm
    merged = {}
    for root in sys.argv[2:]:
        for kind, name, rest in make(root):
            merged.setdefault((kind, name), rest)
    trees = ", ".join(os.path.basename(os.path.dirname(os.path.abspath(root))) for root in sys.argv[2:])
    print(f"# Made by scripts/pass-tables.py from the sources of {trees}; do not edit.")
    for (kind, name), rest in sorted(merged.items()):
        print(f"{kind}\t{name}\t{rest}")


if __name__ == "__main__":
    main()

"""One gdb session that answers many questions; run by gdb itself (`gdb -x`).

Reads `request.json` next to this file, writes one JSON value per line to `answers.jsonl`:
  {"bias": N}                 once the program is loaded
  [query, [answer, ...]]      for each query that was reached
  {"end": true}               when all is said
An answer is "o" (optimised out), ["e", error], ["t", text] or [kind, hex digits, size in bytes] with kind one
of i (signed), u (unsigned), f (floating point, its bits), p (pointer).
"""
import json
import os
import re

import gdb

HERE = os.path.dirname(os.path.abspath(__file__))
PART = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")
with open(os.path.join(HERE, "request.json")) as file:
    REQUEST = json.load(file)
OUT = open(os.path.join(HERE, "answers.jsonl"), "w")


def say(value):
    OUT.write(json.dumps(value, separators=(",", ":")))
    OUT.write("\n")


class Unknown(Exception):
    """A variable that is not where it was said to be."""


def names(block):
    """The variables of one block by name."""
    found = {}
    for symbol in block:
        if not symbol.is_function and symbol.addr_class != gdb.SYMBOL_LOC_TYPEDEF:
            found.setdefault(symbol.name, []).append(symbol)
    return found


class Site:
    """Where the leaves asked for at one address come from; worked out at the first visit."""

    def __init__(self, pc, leaves):
        self.leaves = [
            (name, function, line, depth, [field or int(index) for field, index in PART.findall(path)])
            for name, path, function, line, depth in leaves
        ]
        self.chain = []  # per depth: function and the blocks from inner to outer
        block = gdb.block_for_pc(pc)
        blocks = []
        while block is not None and not (block.is_static or block.is_global):
            blocks.append(names(block))
            if block.function is not None:
                self.chain.append((block.function.name, blocks))
                blocks = []
            block = block.superblock
        self.outer = []
        while block is not None:
            self.outer.append(names(block))
            block = block.superblock
        self.symbols = {}

    def candidates(self, name, function, line, depth):
        key = (name, function, line, depth)
        if key not in self.symbols:
            self.symbols[key] = self.look_up(name, function, line, depth)
        return self.symbols[key]

    def look_up(self, name, function, line, depth):
        if function is None:
            where = self.outer
        elif depth < len(self.chain) and self.chain[depth][0].split("(")[0] == function:
            where = self.chain[depth][1]
        else:
            raise Unknown('No frame of function "%s" at depth %d.' % (function, depth))
        found = [s for block in where for s in block.get(name, []) if line in (0, s.line)]
        if not found and function is None:
            for find in (gdb.lookup_static_symbol, gdb.lookup_global_symbol):
                symbol = find(name)
                if symbol is not None and line in (0, symbol.line):
                    found.append(symbol)
        if not found:
            raise Unknown('No symbol "%s" in current context.' % name)
        return found


def scalar(value, whole):
    """One answer. `whole`: the variable lies in memory in one piece, so that int() can be trusted; gdb gives
    0 for the int() of an element that has no location or is synthetic."""
    kind = value.type.strip_typedefs()
    code = kind.code
    if code == gdb.TYPE_CODE_FLT:
        letter = "f"
    elif code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        letter = "p"
    elif code == gdb.TYPE_CODE_BOOL:
        letter = "u"
    elif code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_RANGE):
        letter = "i" if kind.is_signed else "u"
    else:
        return ["t", value.format_string()]
    size = kind.sizeof
    if whole and letter != "f" and size <= 8:
        return [letter, "%x" % (int(value) & ((1 << 8 * size) - 1)), size]
    if value.is_optimized_out:
        return "o"
    text = value.format_string(format="x", symbols=False)
    digits = re.match(r"0x([0-9a-f]+)$", text) or re.match(r"\([^)]*\) 0x([0-9a-f]+)$", text)
    if digits:
        return [letter, digits.group(1), size]
    if "optimized out" in text or "unavailable" in text:
        return "o"
    if text.startswith("<error"):
        return ["e", text]
    return ["t", text]


def answer(site, frame):
    roots = {}
    parts = {}
    for name, function, line, depth, path in site.leaves:
        try:
            key = (name, function, line, depth)
            if key not in roots:
                # gdb lists an inlined variable a second time, without a location, from the abstract
                # function: take the one that has a value.
                values = [s.value(frame) for s in site.candidates(*key)]
                value = next((v for v in values if len(values) == 1 or not v.is_optimized_out), values[0])
                roots[key] = (value, value.address is not None)
            value, whole = roots[key]
            if isinstance(value, Exception):
                raise value
            for length, part in enumerate(path, 1):
                prefix = (key, *path[:length])
                if prefix not in parts:
                    parts[prefix] = value[part]
                value = parts[prefix]
            yield scalar(value, whole)
        except Unknown as error:
            roots.setdefault(key, (error, False))
            yield ["e", str(error)]
        except gdb.error as error:
            text = str(error)
            if "optimized out" in text:
                yield "o"
            else:
                roots.setdefault(key, (error, False))
                yield ["e", text]


class Stop(gdb.Breakpoint):
    """Counts the visits of one address and answers at the wanted ones."""

    def __init__(self, pc, wanted):
        super().__init__("*%#x" % pc, internal=True)
        self.silent = True
        self.pc = pc
        self.wanted = wanted  # by visit: (query, list of leaves)
        self.visits = 0
        self.sites = {}

    def stop(self):
        global LEFT
        self.visits += 1
        for query, leaves in self.wanted.pop(self.visits, []):
            if leaves not in self.sites:
                self.sites[leaves] = Site(self.pc, REQUEST["leaves"][leaves])
            say([query, list(answer(self.sites[leaves], gdb.newest_frame()))])
            LEFT -= 1
        OUT.flush()
        if not self.wanted:
            self.enabled = False
        return LEFT == 0


def main():
    for setting in REQUEST["settings"]:
        gdb.execute(setting, to_string=True)
    gdb.execute("starti " + REQUEST["redirections"], to_string=True)
    entry = re.search(r"AT_ENTRY.*?(0x[0-9a-f]+)", gdb.execute("info auxv", to_string=True))
    bias = int(entry.group(1), 16) - REQUEST["entry"]
    say({"bias": bias})
    wanted = {}
    for query, (pc, visit, leaves) in enumerate(REQUEST["queries"]):
        wanted.setdefault(pc, {}).setdefault(visit, []).append((query, leaves))
    for pc, visits in wanted.items():
        Stop(pc + bias, visits)
    if LEFT:
        while True:
            gdb.execute("continue", to_string=True)
            # A program without threads is one that has ended. Anything else that stops it is passed on.
            if LEFT == 0 or not gdb.selected_inferior().threads():
                break
    say({"end": True})
    OUT.close()


LEFT = len(REQUEST["queries"])
try:
    main()
except Exception as error:
    say({"failed": str(error)})
    OUT.close()
try:
    gdb.execute("kill", to_string=True)
except gdb.error:
    pass
gdb.execute("quit")

"""One gdb session that answers many questions; run by gdb itself (`gdb -x`).

Reads `request.json` next to this file, writes one JSON value per line to `answers.jsonl`:
  {"bias": N}                 once the program is loaded
  [query, [answer, ...], frames]  for each query that was reached; frames as [[function, line], ...] where asked for
  {"end": true}               when all is said
An answer is "o" (optimised out), ["e", error], ["t", text] or [kind, hex digits, size in bytes] with kind one
of i (signed), u (unsigned), f (floating point, its bits), p (pointer), or ["v", name, 0] for a variant of Rust.
"""
import gc
import json
import os
import re

import gdb

gc.disable()  # the many small lists are no cycles

HERE = os.path.dirname(os.path.abspath(__file__))
HEX = re.compile(r"(?:\([^)]*\) )?0x([0-9a-f]+)$")
COMPLEX = re.compile(r"(?:\([^)]*\) )?(\S.*?) \+ (\S.*)i$")
PART = re.compile(r"\.(\w+|\*|\?)|\[(\d+)\]")
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


def is_function(name, wanted):
    """Rust's functions are wanted by their plain name and known by their path."""
    return name.split("(")[0] == wanted or name == wanted or name.endswith("::" + wanted)


class Half:
    """A part of a complex number. gdb's Python has no operation for it."""

    def __init__(self, value, name):
        self.value = value
        self.second = name == "__imag__"

    def answer(self):
        kind = self.value.type.strip_typedefs()
        if kind.code != getattr(gdb, "TYPE_CODE_COMPLEX", None):
            return ["e", "not a complex number"]
        if self.value.is_optimized_out:
            return "o"
        text = self.value.format_string(format="x", symbols=False)
        parts = COMPLEX.match(text)
        text = parts.group(2 if self.second else 1) if parts else text
        digits = HEX.match(text)
        if digits:
            return ["f", digits.group(1), kind.target().sizeof]
        return "o" if "optimized out" in text or "unavailable" in text else ["t", text]


class Variable:
    """The symbols that a variable may be, and its frame; none for the innermost."""

    def __init__(self, symbols, frame):
        self.symbols = symbols
        self.frame = frame


class Variant:
    """Which variant a Rust enumeration is."""

    def __init__(self, name):
        self.name = name


def first_pointer(value, depth=0):
    """The pointer that a Rust vector keeps some structures further in."""
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return value
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT and depth < 8:
        for field in value.type.fields():
            if field.name:
                found = first_pointer(value[field.name], depth + 1)
                if found is not None:
                    return found
    return None


def part(value, what):
    """One step on the path of a leaf: a field, an element; in Rust also `*`, `?` and elements behind a pointer."""
    if what == "*":
        return value.dereference()
    if what in ("__real__", "__imag__"):
        return Half(value, what)
    if what == "?":
        return Variant(next((f.name for f in value.type.fields() if f.name), "?"))
    if isinstance(what, int):
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_STRUCT:
            if any(field.name == "data_ptr" for field in kind.fields()):
                return (value["data_ptr"] + what).dereference()
            pointer = first_pointer(value)
            if pointer is None:
                raise gdb.error("no elements")
            return (pointer.cast(kind.template_argument(0).pointer()) + what).dereference()
    elif what.isdigit():
        what = "__" + what
    return value[what]


def physical(frame):
    """The frame of the stack that a frame belongs to: inlined functions have none of their own."""
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame


def older(frame):
    """The next frame up the stack that is one: not inlined, and not made up for a tail call."""
    frame = frame.older()
    while frame is not None and frame.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        frame = frame.older()
    return frame


def instances(pc):
    """The functions around an address, inlined ones included, from inner to outer: each with its blocks, and the last block."""
    chain = []
    block = gdb.block_for_pc(pc)
    blocks = []
    while block is not None and not (block.is_static or block.is_global):
        blocks.append(names(block))
        if block.function is not None:
            chain.append((block.function, blocks))
            blocks = []
        block = block.superblock
    return chain, block


def backtrace(pc, frame, most):
    """Functions and lines. At the innermost frame gdb may hide functions that start right here: it is made of blocks."""
    found = []
    line = gdb.find_pc_line(pc).line
    for function, _ in instances(pc)[0]:
        found.append([function.name, line])
        line = function.line  # of an inlined function gdb keeps the line of the call
    frame = physical(frame)
    frame = frame.older() if frame is not None else None
    while frame is not None and len(found) < most:
        if frame.type() != gdb.TAILCALL_FRAME:
            found.append([frame.name() or "", frame.find_sal().line])
        frame = frame.older()
    return found[:most]


class Site:
    """Where the leaves asked for at one address come from; worked out at the first visit. Leaves of frames further up
    are looked up at each visit, for the callers may be others."""

    def __init__(self, pc, leaves, frame):
        chain, block = instances(pc)
        # per depth: function, the blocks from inner to outer, and the frame where it is not the innermost
        self.chain = [(function.name, blocks, None) for function, blocks in chain]
        deepest = max((leaf[4] for leaf in leaves), default=0)
        self.lasts = deepest < len(self.chain)
        caller = physical(frame)
        while caller is not None and len(self.chain) <= deepest:
            caller = older(caller)
            if caller is not None:
                above, _ = instances(caller.pc() - 1)
                self.chain += [(function.name, blocks, caller) for function, blocks in above]
        self.outer = []
        while block is not None:
            self.outer.append(names(block))
            block = block.superblock
        # A tree: variables, their parts, parts of those; each is evaluated once per stop.
        self.nodes = []  # (node it is a part of or -1, part, or for a variable its symbols or an answer)
        self.leaves = []  # indices into nodes
        self.kinds = {}  # of leaves that had a value before: the type of a place does not change
        known = {}
        for name, path, *where in leaves:
            key = (name, *where)
            if key not in known:
                try:
                    known[key] = self.add(-1, self.look_up(name, *where))
                except Unknown as error:
                    known[key] = self.add(-1, ["e", str(error)])
            node = known[key]
            for field, index in PART.findall(path):
                part = field or int(index)
                if (node, part) not in known:
                    known[node, part] = self.add(node, part)
                node = known[node, part]
            self.leaves.append(node)

    def add(self, parent, what):
        self.nodes.append((parent, what))
        return len(self.nodes) - 1

    def look_up(self, name, function, line, depth):
        frame = None
        if function is None:
            where = self.outer
        elif depth < len(self.chain) and is_function(self.chain[depth][0], function):
            _, where, frame = self.chain[depth]
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
        return Variable(found, frame)


def kind_of(kind):
    """The letter of an answer and the size, or None for what is no scalar."""
    kind = kind.strip_typedefs()
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
        return None
    return letter, kind.sizeof


def scalar(value, kind, whole):
    """One answer. `whole`: the variable lies in memory in one piece, so that int() can be trusted; gdb gives
    0 for the int() of an element that has no location or is synthetic."""
    if kind is None:
        return ["t", value.format_string()]
    letter, size = kind
    if whole and letter != "f" and size <= 8:
        return [letter, "%x" % (int(value) & ((1 << 8 * size) - 1)), size]
    if value.is_optimized_out:
        return "o"
    text = value.format_string(format="x", symbols=False)
    digits = HEX.match(text)
    if digits:
        return [letter, digits.group(1), size]
    if "optimized out" in text or "unavailable" in text:
        return "o"
    if text.startswith("<error"):
        return ["e", text]
    return ["t", text]


def variable(symbols, frame):
    """The value of a variable and whether it lies in memory in one piece."""
    # gdb lists an inlined variable a second time, without a location, from the abstract function: take the
    # one that has a value.
    values = [symbol.value(frame) for symbol in symbols]
    value = next((v for v in values if len(values) == 1 or not v.is_optimized_out), values[0])
    whole = value.address is not None
    if whole and value.type.sizeof <= 65536:
        # One read for all parts instead of one each.
        value.fetch_lazy()
    return value, whole


def refusal(error):
    text = str(error)
    return "o" if "optimized out" in text else ["e", text]


def answers(site, frame):
    """The answers for all leaves of a site in the present state of the program."""
    values = []  # per node: value and whether it is in memory, or the answer that takes its place and None
    for parent, what in site.nodes:
        try:
            if parent < 0:
                is_variable = isinstance(what, Variable)
                values.append(variable(what.symbols, what.frame or frame) if is_variable else (what, None))
            else:
                value, whole = values[parent]
                if whole is None:
                    values.append((value, None))
                else:
                    found = part(value, what)
                    if isinstance(found, Variant):
                        values.append((["v", found.name, 0], None))
                    elif isinstance(found, Half):
                        values.append((found.answer(), None))
                    else:
                        values.append((found, whole or found.address is not None))
        except gdb.error as error:
            values.append((refusal(error), None))
    for leaf in site.leaves:
        value, whole = values[leaf]
        try:
            if whole is None:
                yield value
                continue
            if leaf not in site.kinds:
                site.kinds[leaf] = kind_of(value.type)
            yield scalar(value, site.kinds[leaf], whole)
        except gdb.error as error:
            yield refusal(error)


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
            frame = gdb.newest_frame()
            site = self.sites.get(leaves) or Site(self.pc, REQUEST["leaves"][leaves], frame)
            if site.lasts:
                self.sites[leaves] = site
            said = [query, list(answers(site, frame))]
            if REQUEST["frames"]:
                said.append(backtrace(self.pc, frame, REQUEST["frames"]))
            say(said)
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

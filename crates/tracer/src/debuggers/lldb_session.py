"""One lldb session that answers many questions; imported by lldb itself (`command script import`).

Reads and writes the same files as `gdb_session.py`, in the same form.
"""
import json
import os
import re

import lldb

HERE = os.path.dirname(os.path.abspath(__file__))
HALVES = ("__real__", "__imag__")
SIGTRAP, SIGSTOP = 5, 19  # lldb's own
PART = re.compile(r"\.(\w+|\*|\?)|\[(\d+)\]")


class Unknown(Exception):
    """A variable that is not where it was said to be."""


class Session:
    def __init__(self, debugger):
        with open(os.path.join(HERE, "request.json")) as file:
            self.request = json.load(file)
        self.out = open(os.path.join(HERE, "answers.jsonl"), "w")
        self.debugger = debugger

    def say(self, value):
        self.out.write(json.dumps(value, separators=(",", ":")))
        self.out.write("\n")

    def run(self):
        request = self.request
        self.debugger.SetAsync(False)
        error = lldb.SBError()
        self.target = self.debugger.CreateTarget(request["program"], None, None, False, error)
        if error.Fail():
            raise RuntimeError(error.GetCString())
        module = self.target.GetModuleAtIndex(0)
        wanted = {}
        for query, (pc, visit, leaves) in enumerate(request["queries"]):
            wanted.setdefault(pc, {}).setdefault(visit, []).append((query, leaves))
        # By address in the file: lldb moves these with the program.
        breakpoints = {
            pc: self.target.BreakpointCreateBySBAddress(module.ResolveFileAddress(pc)) for pc in wanted
        }
        info = lldb.SBLaunchInfo(request["arguments"])
        info.SetEnvironmentEntries(request["environment"], False)
        info.SetWorkingDirectory(request["directory"])
        info.SetLaunchFlags(lldb.eLaunchFlagDisableASLR | lldb.eLaunchFlagStopAtEntry)
        info.AddOpenFileAction(0, request["stdin"], True, False)
        info.AddOpenFileAction(1, "/dev/null", False, True)
        info.AddOpenFileAction(2, "/dev/null", False, True)
        process = self.target.Launch(info, error)
        if error.Fail():
            raise RuntimeError(error.GetCString())
        header = module.GetObjectFileHeaderAddress()
        self.say({"bias": header.GetLoadAddress(self.target) - header.GetFileAddress()})
        signals = process.GetUnixSignals()
        for index in range(signals.GetNumSignals()):
            number = signals.GetSignalAtIndex(index)
            if number not in (SIGTRAP, SIGSTOP):
                signals.SetShouldStop(number, False)
        visits = dict.fromkeys(wanted, 0)
        left = len(request["queries"])
        while left and process.GetState() == lldb.eStateStopped:
            thread = process.GetSelectedThread()
            frame = thread.GetFrameAtIndex(0)
            pc = frame.GetPCAddress().GetFileAddress()
            if thread.GetStopReason() == lldb.eStopReasonBreakpoint and pc in visits:
                visits[pc] += 1
                for query, leaves in wanted[pc].pop(visits[pc], []):
                    said = [query, list(self.answers(frame, request["leaves"][leaves]))]
                    if request["frames"]:
                        said.append(backtrace(thread, request["frames"]))
                    self.say(said)
                    left -= 1
                self.out.flush()
                if not wanted[pc]:
                    breakpoints[pc].SetEnabled(False)
            if left:
                process.Continue()
        self.say({"end": True})
        process.Kill()

    def scope(self, frame, function, depth):
        """The blocks of the function at a depth of inlining, from inner to outer."""
        block = frame.GetPCAddress().GetBlock()
        level = 0
        blocks = []
        while block.IsValid():
            blocks.append(block)
            parent = block.GetParent()
            if block.IsInlined() or not parent.IsValid():
                if level == depth:
                    name = block.GetInlinedName() if block.IsInlined() else None
                    name = name or frame.GetPCAddress().GetFunction().GetName() or ""
                    if is_function(name, function):
                        return blocks
                    break
                level += 1
                blocks = []
            block = parent
        raise Unknown("no frame of function '%s' at depth %d" % (function, depth))

    def root(self, frame, name, function, line, depth):
        thread = frame.GetThread()
        inner = len(instances(frame.GetPCAddress()))
        if function is not None and depth >= inner:
            return self.upper(thread, name, function, line, depth - inner)
        if function is None:
            # Through the frame first: a static variable of this file goes before one of another file.
            found = [v for v in frame.GetVariables(False, False, True, False) if v.GetName() == name]
            found = found or [
                v for v in self.target.FindGlobalVariables(name, 64) if v.GetName().split("::")[-1] == name
            ]
        else:
            # A block's variables are only to be had through the frame that the block belongs to, and lldb
            # hides inlined frames that start right here.
            blocks = self.scope(frame, function, depth)
            found = []
            for index in range(depth, -1, -1):
                found += [
                    v
                    for block in blocks
                    for v in block.GetVariables(
                        thread.GetFrameAtIndex(index), True, True, True, lldb.eNoDynamicValues
                    )
                    if v.GetName() == name
                ]
                if found:
                    break
        found = [v for v in found if line in (0, v.GetDeclaration().GetLine())]
        if not found:
            raise Unknown("no variable named '%s' found in this frame" % name)
        return next((v for v in found if v.GetError().Success()), found[0])

    def upper(self, thread, name, function, line, above):
        """A variable of a frame further up the stack, where lldb hides nothing."""
        frame = next(iter(callers(thread, above, above + 1)), None)
        if frame is None or not is_function(frame.GetFunctionName() or "", function):
            raise Unknown("no frame of function '%s' so far up" % function)
        found = [v for v in frame.GetVariables(True, True, True, True) if v.GetName() == name]
        found = [v for v in found if line in (0, v.GetDeclaration().GetLine())]
        if not found:
            raise Unknown("no variable named '%s' found in this frame" % name)
        return next((v for v in found if v.GetError().Success()), found[0])

    def answers(self, frame, leaves):
        roots = {}
        for name, path, function, line, depth in leaves:
            key = (name, function, line, depth)
            try:
                if key not in roots:
                    roots[key] = self.root(frame, *key)
                value = roots[key]
                value.SetPreferSyntheticValue(False)
                half = None
                for field, index in PART.findall(path):
                    if field in HALVES:
                        half = HALVES.index(field)
                    else:
                        value = part(value, field, index)
                yield scalar(value) if half is None else half_of(value, half)
            except Unknown as error:
                yield ["e", str(error)]


def instances(address):
    """The functions around an address, inlined ones included, from inner to outer: each with the line it was called from."""
    found = []
    block = address.GetBlock()
    while block.IsValid():
        parent = block.GetParent()
        if block.IsInlined():
            found.append((block.GetInlinedName() or "", block.GetInlinedCallSiteLine()))
        elif not parent.IsValid():
            found.append((address.GetFunction().GetName() or "", 0))
        block = parent
    return found


def callers(thread, first, end):
    """Frames above the innermost one of the stack, by number; inlined functions count, and frames that lldb makes up for
    tail calls do not."""
    # not by the number of frames: to count them lldb would walk the whole stack
    index = 0
    while thread.GetFrameAtIndex(index).IsInlined():
        index += 1
    place = 0
    while place < end:
        index += 1
        frame = thread.GetFrameAtIndex(index)
        if not frame.IsValid():
            break
        if frame.IsArtificial():
            continue
        if place >= first:
            yield frame
        place += 1


def backtrace(thread, most):
    """Functions and lines. At the innermost frame lldb may hide functions that start right here: it is made of blocks."""
    address = thread.GetFrameAtIndex(0).GetPCAddress()
    found = []
    line = address.GetLineEntry().GetLine()
    for name, called_from in instances(address):
        found.append([name.split("(")[0], line])
        line = called_from
    for frame in callers(thread, 0, max(0, most - len(found))):
        found.append([(frame.GetFunctionName() or "").split("(")[0], frame.GetLineEntry().GetLine()])
    return found[:most]


def is_function(name, wanted):
    """lldb knows Rust's functions by their demangled linkage names: `prog::main::{{closure}}::h0123`, `prog::f::<i32>`."""
    if name.split("(")[0] == wanted:
        return True
    plain = wanted.split("<")[0]
    if plain.startswith("{closure"):
        return "{closure" in name
    return "::" in name and plain in re.split(r"::|<|>", name)


def variant(value, name):
    """A variant of a Rust enumeration, by its name: lldb makes a union of all of them."""
    variants = value.GetChildMemberWithName("$variants$")
    for index in range(variants.GetNumChildren()):
        found = variants.GetChildAtIndex(index).GetChildMemberWithName("value")
        kind = re.sub(r"<.*$", "", (found.GetTypeName() or "").rsplit(">::", 1)[-1])
        if kind.split("::")[-1] == name:
            return found
    return lldb.SBValue()


def first_pointer(value, depth=0):
    """The pointer that a Rust vector keeps some structures further in."""
    if value.GetType().IsPointerType():
        return value
    for index in range(value.GetNumChildren() if depth < 8 else 0):
        found = first_pointer(value.GetChildAtIndex(index, lldb.eNoDynamicValues, False), depth + 1)
        if found is not None:
            return found
    return None


def part(value, field, index):
    """One step on the path of a leaf: a field, an element; in Rust also `*` and elements behind a pointer."""
    if field == "*":
        return value.Dereference()
    if field == "?":
        raise Unknown("lldb does not tell which variant it is")
    if field:
        found = value.GetChildMemberWithName("__" + field if field.isdigit() else field, lldb.eNoDynamicValues)
        return found if found.IsValid() else variant(value, field)
    kind = value.GetType().GetCanonicalType()
    if kind.GetTypeClass() == lldb.eTypeClassStruct:
        pointer = value.GetChildMemberWithName("data_ptr")
        element = pointer.GetType().GetPointeeType()
        if not pointer.IsValid():
            pointer, element = first_pointer(value), kind.GetTemplateArgumentType(0)
        if pointer is None or not element.IsValid():
            raise Unknown("no elements")
        at = pointer.GetValueAsUnsigned(0) + int(index) * element.GetByteSize()
        target = value.GetTarget()
        return target.CreateValueFromAddress("element", target.ResolveLoadAddress(at), element)
    return value.GetChildAtIndex(int(index), lldb.eNoDynamicValues, False)


def half_of(value, half):
    """A part of a complex number, which has no children in lldb."""
    kind = value.GetType().GetCanonicalType()
    size = kind.GetByteSize() // 2
    if not kind.GetTypeFlags() & lldb.eTypeIsComplex:
        return ["e", "not a complex number"]
    error = value.GetError()
    data = value.GetData().ReadRawData(error, half * size, size) if error.Success() else None
    if error.Success() and data is not None:
        return ["f", "%x" % int.from_bytes(data[:10] if size == 16 else data, "little"), size]
    text = error.GetCString() or "no value"
    if "not available" in text or "optimized out" in text:
        return "o"
    return ["e", text]


def scalar(value):
    if not value.IsValid():
        return ["e", "no such part"]
    error = value.GetError()
    kind = value.GetType().GetCanonicalType()
    size = kind.GetByteSize()
    flags = kind.GetTypeFlags()
    if flags & (lldb.eTypeIsPointer | lldb.eTypeIsReference):
        letter = "p"
    elif flags & lldb.eTypeIsFloat:
        letter = "f"
    elif flags & lldb.eTypeIsEnumeration:
        integer = kind.GetEnumerationIntegerType()
        letter = "i" if integer.GetTypeFlags() & lldb.eTypeIsSigned else "u"
    elif flags & lldb.eTypeIsInteger:
        letter = "i" if flags & lldb.eTypeIsSigned else "u"
    else:
        return ["t", str(value.GetValue() or value.GetSummary())]
    if kind.GetBasicType() == lldb.eBasicTypeBool:
        letter = "u"
    if error.Success() and letter != "f" and size <= 8:
        number = value.GetValueAsSigned(error, 0) if letter == "i" else value.GetValueAsUnsigned(error, 0)
        if error.Success():
            return [letter, "%x" % (number & ((1 << 8 * size) - 1)), size]
    elif error.Success():
        data = value.GetData().ReadRawData(error, 0, size)
        if error.Success() and data is not None:
            if letter == "f" and size == 16:
                data = data[:10]
            return [letter, "%x" % int.from_bytes(data, "little"), size]
    text = error.GetCString() or "no value"
    if "not available" in text or "optimized out" in text:
        return "o"
    return ["e", text]


def __lldb_init_module(debugger, _):
    session = Session(debugger)
    try:
        session.run()
    except Exception as error:
        session.say({"failed": str(error)})
    session.out.close()

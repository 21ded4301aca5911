#!/usr/bin/env python3
"""Two workers through a broker against a local hunt with two jobs: the same seeds, in turns, in one run.

  scripts/fleet-bench.py [SEEDS] [RUNS]

By the clock and by CPU time (the machine may be shared; CPU time includes every compiler, and the broker's on its side),
and how many messages and bytes the broker moved per program judged. What starting up costs (finding compilers, opening the
store: two processes do it twice) is measured apart, by hunts over a single seed, and taken off both."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.request

os.chdir(pathlib.Path(__file__).resolve().parent.parent)
SEEDS, RUNS = (int(text) for text in (sys.argv[1:] + ["8", "3"][len(sys.argv) - 1 :]))
CANDOR = os.environ.get("CANDOR", "target/release/candor")
PORT = random.randrange(20000, 40000)


def cpu_of(pid):
    """Seconds of CPU time of a process that runs."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def moved():
    """What the broker moved so far."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT + 1}/varz") as answer:
        figures = json.load(answer)
    return [figures[name] for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes")]


def hunt(place, commands):
    """Runs hunts at the same time: seconds by the clock, of CPU time, programs judged."""
    begun, outputs, children = time.monotonic(), [], []
    for number, more in enumerate(commands):
        output = place / f"out{number}"
        outputs.append(output)
        with output.open("w") as stdout, (place / f"err{number}").open("w") as stderr:
            children.append(subprocess.Popen([CANDOR, "hunt", *more], stdout=stdout, stderr=stderr))
    cpu = 0
    for child in children:
        _, status, usage = os.wait4(child.pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            sys.exit((place / "err0").read_text() + (place / f"err{len(children) - 1}").read_text())
        cpu += usage.ru_utime + usage.ru_stime
    clock = time.monotonic() - begun
    programs = 0
    for output in outputs:
        for line in output.read_text().splitlines():
            event = json.loads(line)
            if event.get("event") == "ended":
                programs += event["programs"]
    return clock, cpu, programs


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = pathlib.Path(folder)
        os.environ["XDG_STATE_HOME"] = str(place / "state")
        server = subprocess.Popen(
            ["nats-server", "-js", "-a", "127.0.0.1", "-p", str(PORT), "-m", str(PORT + 1), "-sd", str(place / "broker")],
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(1)
            measure(place, server)
        finally:
            server.kill()
            server.wait()


def measure(place, server):
    def settings(seeds):
        return ["--cc", "gcc-12", "--cc", "clang-19", "--seeds", str(seeds), "--variants", "2", "--share", "0", "--json"]

    def local(seeds, name):
        return hunt(place, [[*settings(seeds), "--jobs", "2", "--store", str(place / name)]])

    def fleet(seeds, name):
        worker = [*settings(seeds), "--fleet", f"nats://127.0.0.1:{PORT}", "--campaign", name, "--begin", "--jobs", "1"]
        before, broker = moved(), cpu_of(server.pid)
        clock, cpu, programs = hunt(place, [worker, worker])
        after = moved()
        return clock, cpu + cpu_of(server.pid) - broker, programs, [b - a for a, b in zip(before, after)]

    one_local, one_fleet = local(1, "one"), fleet(1, "one")
    print(f"one seed: local {one_local[0]:.1f} s, {one_local[1]:.1f} s of CPU time, {one_local[2]} programs; "
          f"fleet {one_fleet[0]:.1f} s, {one_fleet[1]:.1f} s of CPU time, {one_fleet[2]} programs", flush=True)
    clocks, cpus = [], []
    for run in range(RUNS):
        ours, theirs = local(1 + SEEDS, f"local{run}"), fleet(1 + SEEDS, f"fleet{run}")
        # What the further seeds took.
        more = [ours[2] - one_local[2], theirs[2] - one_fleet[2]]
        cost = [(ours[1] - one_local[1]) / more[0], (theirs[1] - one_fleet[1]) / more[1]]
        rate = [ours[2] / ours[0], theirs[2] / theirs[0]]
        clocks.append(rate[1] / rate[0])
        cpus.append(cost[0] / cost[1])
        per = [amount / theirs[2] for amount in theirs[3]]
        print(f"local: {ours[2]} programs in {ours[0]:.1f} s, {ours[1]:.1f} s of CPU time; "
              f"fleet: {theirs[2]} in {theirs[0]:.1f} s, {theirs[1]:.1f} s of CPU time; "
              f"fleet/local by the clock {clocks[-1]:.3f}, by CPU time of the further seeds {cpus[-1]:.3f}; per program {per[0]:.1f} messages in, "
              f"{per[1]:.1f} out, {per[2] / 1000:.1f} kB in, {per[3] / 1000:.1f} kB out", flush=True)
    middle = lambda all: sorted(all)[len(all) // 2]
    print(f"medians of {RUNS}: fleet/local by the clock {middle(clocks):.3f}, by CPU time {middle(cpus):.3f}")


main()

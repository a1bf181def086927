# SPDX-License-Identifier: Apache-2.0
"""Recording is switched on and off while kernels run: no job may die of it."""
import itertools
import time

import processes
from part import Broken, wait_until

LEVELS = ("light", "standard", "full")
WINDOW_S = 0.3  # recorded, then as long not recorded


def jobs(part):
    """Kernels one by one, steps of PyTorch, steps of a graph; each twice, and with --cuda=yield, which gives CUPTI back."""
    def steps(name, *more):
        return part.python_job("--model", "small", "--seconds", 1000, "--log", part.folder / f"{name}.txt", *more)

    def launches(name):
        return part.probe, "loop", "--seconds", 1000, "--log", part.folder / f"{name}.txt"

    if part.mode == "fake":
        return {"launches": (launches("launches"), ()), "yield-launches": (launches("yield-launches"), ("--cuda", "yield"))}
    graph = part.python_job("--graph", "--steps", 400_000)
    return {"launches-1": (launches("launches-1"), ()), "launches-2": (launches("launches-2"), ()),
            "steps-1": (steps("steps-1"), ()), "steps-2": (steps("steps-2"), ()),
            "graph-1": (graph, ()), "graph-2": (graph, ()),
            "yield-launches": (launches("yield-launches"), ("--cuda", "yield")),
            "yield-steps": (steps("yield-steps"), ("--cuda", "yield"))}


def switched(part):
    running = {}
    for name, (job, options) in jobs(part).items():
        running[name] = part.start_record(*job, run=name, options=("--armed", *options))
    time.sleep(12 if part.on_gpu else 3)  # imports, first steps
    windows = dict.fromkeys(running, 0)
    alive = set(running)
    levels = itertools.cycle(LEVELS)
    while alive and part.left() > 20:
        level = next(levels)
        for words in (("level", level), ("start",), ("stop",)):
            for name in sorted(alive):
                if running[name].poll() is not None:
                    alive.discard(name)
                    continue
                try:
                    part.control(name, *words)
                except Broken:
                    wait_until(lambda name=name: running[name].poll() is not None, 10, f"the end of {name}")
                    alive.discard(name)
            if words != ("level", level):
                time.sleep(WINDOW_S)
        for name in alive:
            windows[name] += 1
    for name in sorted(alive):
        processes.end_below(running[name].pid)
    died, given_back = [], []
    for name, process in running.items():
        part.finish(process, timeout=20, want=None)
        trace = part.trace(name)
        part.figure(f"{name}: windows; kernels and graphs; how it ended",
                    f"{windows[name]}; {trace.value('SELECT count(*) FROM gpu_activity')}; "
                    f"{'switched to the end' if name in alive else process.returncode}")
        if name not in alive:
            (given_back if "yield" in name else died).append(name)
    part.expect("no job dies of switching, except with --cuda=yield, which releases CUPTI each time", not died,
                died or "none did")
    ours = sum(count for name, count in windows.items() if "yield" not in name)
    theirs = sum(windows.values()) - ours
    return (f"{ours} windows, {len(died)} jobs died; with --cuda=yield {theirs} windows, {len(given_back)} jobs died")

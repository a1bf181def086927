# SPDX-License-Identifier: Apache-2.0
"""What recording costs: steps and launches while it is switched on and off, whole runs in turn, CUPTI's kinds of records."""
import bisect
import shutil
import statistics
import time

import processes
from part import ONE_RANK, Broken, interval, last_json, trainer_step_ms, wait_until

LEVELS = ("light", "standard", "full")
SETTLED_S = 0.3     # after a request until what it asks for holds in the job
LEAST_STEPS = 5     # of a span, for its median


class Spans:
    """A job that runs on while dprof records for a while at one level, then not, then at the next level, …

    What differs from process to process cancels out: each span is compared with the two beside it. CUPTI's kinds of records
    stay on while dprof is armed and does not record: what they and the preloaded library cost is in both sides, and
    `run-cost` has it."""

    def __init__(self, part, run, seconds):
        self.part, self.run, self.seconds = part, run, seconds
        self.log = part.folder / f"{run}.txt"
        self.spans = []  # (level or None, begin, end), monotonic ns

    def record(self, *job, **how):
        part = self.part
        process = part.start_record(*job, run=self.run, options=("--armed",), **how)
        wait_until(lambda: process.poll() is not None or (self.log.exists() and len(self.log.read_text().splitlines()) > 20),
                   part.left() * 0.6, "the job's first steps")
        time.sleep(1)  # caches and clocks of the GPU settle
        number = 0
        began = time.monotonic_ns()
        while process.poll() is None and part.left() > 6 * self.seconds:
            self.span(None, began)
            level = LEVELS[number % len(LEVELS)]
            part.control(self.run, "level", level)
            part.control(self.run, "start")
            began = time.monotonic_ns()
            self.span(level, began)
            part.control(self.run, "stop")
            began = time.monotonic_ns()
            number += 1
            if number == 3 * self.most_rounds():
                break
        if process.poll() is None:
            self.span(None, began)
        return process

    def most_rounds(self):
        return 12 if self.part.on_gpu else 1

    def span(self, level, began):
        """Lasts until it has enough steps, so that a busy machine leaves fewer spans and not none."""
        begin = began + int(SETTLED_S * 1e9)
        time.sleep(SETTLED_S + self.seconds)
        while self.part.left() > 6 * self.seconds and len(self.logged().within(begin, time.monotonic_ns())) < LEAST_STEPS:
            time.sleep(self.seconds / 4)
        self.spans.append((level, begin, time.monotonic_ns()))

    def logged(self):
        return Logged(self.log.read_text())

    def pairs(self):
        """For each level, (recorded, not recorded) medians of the spans and their neighbours."""
        logged = self.logged()

        def median(begin, end):
            inside = logged.within(begin, end)
            return statistics.median(inside) if len(inside) >= LEAST_STEPS else None

        medians = [median(begin, end) for _, begin, end in self.spans]
        found = {level: [] for level in LEVELS}
        for at in range(1, len(self.spans) - 1):
            level = self.spans[at][0]
            if level and None not in medians[at - 1:at + 2]:
                found[level].append((medians[at], (medians[at - 1] + medians[at + 1]) / 2))
        return found


class Logged:
    """What a job wrote: a line for each step or group of launches, with its end and what it took."""

    def __init__(self, text):
        lines = [line.split() for line in text.splitlines()]
        self.ends = [int(words[0]) for words in lines if len(words) >= 2]
        self.took = [float(words[1]) for words in lines if len(words) >= 2]

    def within(self, begin, end):
        """What those took that began and ended within it: the first may have begun before."""
        return self.took[bisect.bisect_left(self.ends, begin) + 1:bisect.bisect_right(self.ends, end)]


def step_cost(part):
    """Two models: one whose launches take longer than its kernels, one that keeps the GPU busy."""
    said = []
    share = part.left() / 2
    for model, seconds in (("small", 0.7), ("large", 1.2)):
        end = min(part.end, time.monotonic() + share)
        part.end, whole = end, part.end
        spans = Spans(part, model, seconds if part.on_gpu else 0.3)
        process = spans.record(*part.python_job("--model", model, "--seconds", 1000, "--log", spans.log))
        part.end = whole
        end_job(part, process)
        said.append(ratios_text(part, model, spans))
    return "; ".join(said)


def end_job(part, process):
    """It would go on for ever; what it was to be used for has been done."""
    if process.poll() is None:
        processes.end_below(process.pid)
    part.finish(process, timeout=20, want=None)


def ratios_text(part, name, spans):
    pairs = spans.pairs()
    bare = [without for level in LEVELS for _, without in pairs[level]]
    if not bare:
        if part.mode == "cpu":
            return ""
        raise Broken(f"{name}: no span was long enough for {LEAST_STEPS} steps")
    part.figure(f"{name}: a step, not recorded", statistics.median(bare) / 1e6, "ms", n=len(bare))
    said = []
    for level in LEVELS:
        slower = [100 * (recorded / without - 1) for recorded, without in pairs[level]]
        if len(slower) < 3:
            part.figure(f"{name}: slow-down, {level}", None, n=len(slower))
            continue
        low, high = interval(slower)
        part.figure(f"{name}: slow-down, {level}", statistics.median(slower), "%", low, high, len(slower))
        said.append(f"{level} {statistics.median(slower):+.2f} % ({low:+.2f} to {high:+.2f})")
    return f"{name} model, {statistics.median(bare) / 1e6:.2f} ms steps: {', '.join(said)}"


def launch_cost(part):
    spans = Spans(part, "launches", 0.8 if part.on_gpu else 0.4)
    process = spans.record(part.probe, "loop", "--seconds", 1000, "--log", spans.log)
    end_job(part, process)
    pairs, said = spans.pairs(), []
    bare = [without for level in LEVELS for _, without in pairs[level]]
    if not bare:
        raise Broken("no span was long enough")
    part.figure("a launch, not recorded", statistics.median(bare), "ns", n=len(bare))
    for level in LEVELS:
        more = [recorded - without for recorded, without in pairs[level]]
        if not more:
            continue
        low, high = interval(more) if len(more) >= 3 else (None, None)
        part.figure(f"additional cost of a launch, {level}", statistics.median(more), "ns", low, high, len(more))
        said.append(f"{level} {statistics.median(more):+.0f} ns")
    return f"a launch takes {statistics.median(bare):.0f} ns; recorded: {', '.join(said)}"


def run_cost(part):
    """Rounds of whole runs in turn; each round gives one ratio against the bare run of the same round."""
    native = part.trainer_job("--model", "convnet", "--batch", 512 if part.on_gpu else 16, *part.steps(300))
    python = part.python_job("--steps", 60 if part.on_gpu else 31)
    run = part.folder / "run"

    def trainer(*before, **environment):
        return trainer_step_ms(part.run(*before, *native, program="trainer", want=(0, 5), **environment))

    def recorded(*options):
        return trainer(part.dprof, "record", "-n", 1, "--overwrite", "-o", run, *options, "--")

    def steps(*more):
        step_ms = last_json(part.run(*python, *more, **ONE_RANK))["step_ms"]
        return statistics.median(step_ms[10:20])  # behind the warm-up: steps 20 to 29, which torch.profiler sees

    variants = {"bare": lambda: trainer(**ONE_RANK), "--cuda=off": lambda: recorded("--cuda", "off"),
                "armed": lambda: recorded("--armed"),
                **{level: lambda level=level: recorded("--detail", level) for level in LEVELS},
                "Python, bare": steps, "torch.profiler": lambda: steps("--profile", part.folder / "profile.json")}
    if nsys := shutil.which("nsys"):
        variants["nsys"] = lambda: trainer(nsys, "profile", "--trace", "cuda,nvtx", "-o", part.folder / "nsys",
                                           "--force-overwrite", "true", **ONE_RANK)
    times = {name: [] for name in variants}
    rounds, longest = 0, 0.0
    while rounds < (12 if part.on_gpu else 1) and longest < part.left():
        begin = time.monotonic()
        names = list(variants)
        for name in names[rounds % len(names):] + names[:rounds % len(names)]:
            times[name].append(variants[name]())
        rounds += 1
        longest = max(longest, time.monotonic() - begin)
    part.figure("a step of the C++ trainer, bare", statistics.median(times["bare"]), "ms", n=rounds)
    part.figure("a step of train.py, bare", statistics.median(times["Python, bare"]), "ms", n=rounds)
    said = []
    for name in variants:
        base = {"bare": None, "Python, bare": None, "torch.profiler": "Python, bare"}.get(name, "bare")
        if base:
            slower = [100 * (a / b - 1) for a, b in zip(times[name], times[base])]
            low, high = interval(slower) if rounds >= 3 else (None, None)
            part.figure(f"slow-down, {name}", statistics.median(slower), "%", low, high, rounds)
            said.append(f"{name} {statistics.median(slower):+.1f} %")
    return f"{rounds} rounds: {', '.join(said)}"


def cupti_kinds(part):
    """A client of CUPTI's of its own asks for more and more kinds of records, in turn."""
    said = last_json(part.run(part.probe, "kinds", "--rounds", 12 if part.on_gpu else 2))["variants"]
    nothing = said["nothing"]
    base = {what: statistics.median(nothing[what]) for what in ("launch_ns", "graph_ns", "query_ns")}
    part.figure("nothing: a launch; a launch of a graph of 20 kernels; an event query",
                "; ".join(f"{base[what]:.0f} ns" for what in base), n=len(nothing["launch_ns"]))
    for name, found in said.items():
        if name == "nothing":
            continue
        for what, label in (("launch_ns", "a launch"), ("graph_ns", "a launch of a graph"), ("query_ns", "an event query")):
            more = [a - b for a, b in zip(found[what], nothing[what])]
            low, high = interval(more) if len(more) >= 3 else (None, None)
            part.figure(f"{name}: {label} costs more", statistics.median(more), "ns", low, high, len(more))
        part.figure(f"{name}: a launch, 50 and 99 of 100, and the longest",
                    f"{found['p50_ns']}; {found['p99_ns']}; {found['longest_ns']} ns")
        part.figure(f"{name}: kernels of launched; joined to a call; graphs of replayed",
                    f"{found['kernels']} of {found['launched'] + 20 * found['graphs_launched']}; {found['joined']}; "
                    f"{found['graphs']} of {found['graphs_launched']}")
        if found["flush_us"]:
            part.figure(f"{name}: cuptiActivityFlushAll(0), median; longest",
                        f"{statistics.median(found['flush_us']):.0f}; {max(found['flush_us']):.0f} us",
                        n=len(found["flush_us"]))
    every = said["kernels, all calls"]
    part.expect("each launch has its call if all calls are requested", every["joined"] >= 0.95 * every["launched"],
                f"{every['joined']} of {every['launched']}")
    whole = said["kernels, listed calls, graphs whole"]
    part.expect("a record for each launch of a graph, if whole graphs are requested",
                whole["graphs"] == whole["graphs_launched"],
                f"{whole['graphs']} of {whole['graphs_launched']}")
    more = {name: statistics.median(a - b for a, b in zip(said[name]["launch_ns"], nothing["launch_ns"]))
            for name in ("kernels", "kernels, all calls")}
    return (f"a launch takes {base['launch_ns']:.0f} ns, with kernels recorded {more['kernels']:+.0f} ns, with all calls too "
            f"{more['kernels, all calls']:+.0f} ns")

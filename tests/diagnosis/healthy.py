# SPDX-License-Identifier: Apache-2.0
"""Healthy real runs: six models of dprof-trainer, as people run them, with nothing injected. Nobody should be named.

Ranks that share two cores are not always equals: another process takes one's core, or its allocator returns memory to the
system where its peer's does not. A report that says so is right. What decides is not dprof's own record: a thread here reads
the ranks' counters from /proc meanwhile, and a named rank counts as shown where the counter of its cause differs from its
peers' by half of what it is said to cost.
"""
import collections
import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import real
import support

STEPS = 120
POLL_S = 0.2
HALF = 0.5        # of the cost that is claimed, in the counter of its cause: as kMostOfIt of the analyser
MORE_PAGES = 1.5  # times the peers' faults, beside the time: kMorePages of the analyser, and its experiment
FIXED_MALLOC = {"MALLOC_TRIM_THRESHOLD_": "1073741824", "MALLOC_MMAP_THRESHOLD_": "1073741824"}

# Batches for steps of about 5 to 20 ms, and of 50 to 200 ms, on a core of 2020.
MODELS = (
    ("convnet", ("--model", "convnet"), 64, 256),
    ("mlp", ("--model", "mlp:784,1024,1024,10"), 8, 256),
    ("resnet18", ("--model", "resnet18", "--image-size", 32), 1, 4),
    ("bert-tiny", ("--model", "bert-tiny"), 1, 8),
    ("gpt-tiny", ("--model", "gpt-tiny"), 1, 8),
    ("recommender-tiny", ("--model", "recommender-tiny"), 64, 4096),
)
Form = collections.namedtuple("Form", "name ranks long environment more neighbour", defaults=(False, {}, (), False))
FORMS = (
    Form("short steps", 2),
    Form("long steps", 2, long=True),
    Form("short steps, fixed malloc", 2, environment=FIXED_MALLOC),
    Form("long steps, fixed malloc", 2, long=True, environment=FIXED_MALLOC),
    Form("a core each", 2, long=True, more=("--affinity", "0;1")),
    Form("3 ranks", 3, long=True),
    Form("4 ranks", 4),
    Form("4 ranks, fixed malloc", 4, long=True, environment=FIXED_MALLOC),
    Form("a busy neighbour", 2, long=True, neighbour=True),
    Form("3 ranks, a busy neighbour", 3, neighbour=True),
)


class Counters(threading.Thread):
    """The last that /proc said of each rank of a job: counters of its main thread and of its process."""

    def __init__(self):
        super().__init__(daemon=True)
        self.of_rank, self.over = {}, threading.Event()

    def run(self):
        known, ranks = set(), {}
        while not self.over.wait(POLL_S):
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                if folder not in known:
                    known.add(folder)
                    rank = rank_of(folder)
                    if rank is not None:
                        ranks[folder] = rank
            for folder, rank in ranks.items():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    self.of_rank[rank] = counters_of(folder)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def rank_of(folder):
    with contextlib.suppress(OSError, ValueError):
        if (folder / "comm").read_text().strip() != "dprof-trainer":
            return None
        words = (folder / "environ").read_bytes().split(b"\0")
        return next((int(word[5:]) for word in words if word.startswith(b"RANK=")), None)
    return None


def counters_of(folder):
    ran, waited = map(int, (folder / "schedstat").read_text().split()[:2])
    stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return {"ran_ns": ran, "waited_for_core_ns": waited, "faults": int(stat[7]),
            "kernel_ns": int(stat[12]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")}


def shows(verdict, of_rank, steps):
    """Whether the counters of the rank differ from its peers' as the cause says."""
    own = of_rank.get(verdict["rank"])
    peers = [counters for rank, counters in of_rank.items() if rank != verdict["rank"]]
    if own is None or not peers:
        return False
    more = {key: value - statistics.median(peer[key] for peer in peers) for key, value in own.items()}
    least = HALF * verdict["cost_ns"] * steps
    if verdict["cause"] == "allocator":
        return more["kernel_ns"] >= least and own["faults"] >= MORE_PAGES * statistics.median(p["faults"] for p in peers)
    if verdict["cause"] == "cpu_contention":
        return more["waited_for_core_ns"] >= least
    if verdict["cause"] in ("compute", "device"):
        return more["ran_ns"] >= least
    return False


def line(build, folder, model, form, number):
    name, words, short, long = model
    run = folder / "run"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")} | form.environment
    words = [build / "bin/dprof", "record", "-n", form.ranks, "-o", run, "--", build / "bin/dprof-trainer", "--steps", STEPS,
             "--threads", 1, "--seed", 1 + number, *words, "--batch", long if form.long else short, *form.more]
    with support.ForeignLoad() as load, Counters() as counters, neighbour() if form.neighbour else contextlib.nullcontext():
        real.call(words, folder, environment)
    report = real.read_report(build / "bin/dprof", run)
    steps = report["run"]["steps"]
    result = real.line_of(report, load.cores, (form.ranks, 1), id=id_of(model, form, number), kind=form.name, size=0, impact=0,
                          expected=[], step_ns=steps["median_ns"])
    if result["stragglers"]:
        result["shown"] = [s["rank"] for s in result["stragglers"]
                           if s["rank"] is not None and shows(s, counters.of_rank, steps["steady"])]
        result["counters"] = {str(rank): value for rank, value in sorted(counters.of_rank.items())}
    return result


def id_of(model, form, number):
    return f"{model[0]}/{form.name}/{number}"


@contextlib.contextmanager
def neighbour():
    """Another program that computes all the time."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(POLL_S)
        yield
    finally:
        busy.kill()
        busy.wait()


def run(options, done, keep):
    """Each model in each form that often, but for those whose names are in `done`."""
    for number in range(options.healthy):
        for form in FORMS:
            for model in MODELS:
                name = id_of(model, form, number)
                if name in done or (options.only and not re.search(options.only, name)):
                    continue
                with tempfile.TemporaryDirectory(prefix="dprof-scoreboard-") as folder:
                    try:
                        keep([line(pathlib.Path(options.build), pathlib.Path(folder), model, form, number)])
                    except real.FAILURES as error:
                        keep([real.line_of_failure(error, id=name, kind=form.name, size=0)])

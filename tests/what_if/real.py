# SPDX-License-Identifier: Apache-2.0
"""The real half of scripts/what-if: two runs of dprof-trainer, one as it is and one with something really changed.

The first is recorded, and dprof is asked what the change would give. The second has the change; how long its steps are is read
off the program's own clock (its truth.json), never from dprof. Both are recorded, so that what recording costs is in both; they
follow each other in turns (AB, BA, …), since a virtual machine's cores differ by ten percent from one minute to the next. What
other programs used meanwhile is kept with each result.

Each rank waits DEVICE_MS a step as if a device computed, and computes little, as in the scoreboard (tests/diagnosis/real.py).
"""
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "end_to_end"))
import support  # noqa: E402

HOSTS = support.ROOT / "scripts/hosts"
STEPS = 80
FIRST_STEADY = 8
TIMEOUT_S = 240
DEVICE_MS = 40  # of a step, on every rank
USUAL = ("--steps", STEPS, "--threads", 1, "--batch", 8, "--log-every", 1, "--loss-every", 1)
WIDE = ("--model", "mlp:64,1024,1024,1024,10")  # 8.6 MiB of gradients: communication matters

# `base` and `then`: the trainer's words before and after the change; `passes`: of the second run in a step; `nothing`: it is
# to be found to gain nothing.
Pair = collections.namedtuple("Pair", "name change base then ranks hosts device passes mean nothing",
                              defaults=(2, 1, True, 1, False, False))


def off(name, fault, change="rank:1=peers", ranks=2, base=(), mean=False):
    """A fault that the second run has not."""
    return Pair(name, change, (*base, "--inject", fault), base, ranks=ranks, mean=mean)


def cap(before, after):
    words = ("--bucket-mb", before), ("--bucket-mb", after)
    return Pair(f"bucket cap {before} to {after} MB", f"bucket_cap={after}MiB", (*WIDE, *words[0]), (*WIDE, *words[1]))


def link(rate):
    return tuple(word for rank in (0, 1) for word in ("--inject", f"slow-link:rank={rank},rate={rate}"))


SAVES = ("--checkpoint", "{folder}/saved", "--checkpoint-every", 10)
HIDDEN = ("--inject", "forward:rank=2,ms=20")
PAIRS = (
    off("forward delay off", "forward:rank=1,ms=15"),
    off("backward delay off", "backward:rank=1,ms=15"),
    off("compute delay off", "compute:rank=1,ms=10"),
    off("optimizer delay off", "optimizer:rank=1,ms=10"),
    off("loader delay of one rank off", "loader:rank=1,ms=15"),
    off("loader delay of all off", "loader:rank=all,ms=15", "input=0"),
    Pair("loader workers 0 to 2", "input=0", ("--inject", "loader:rank=all,ms=15"),
         ("--inject", "loader:rank=all,ms=15", "--loader-workers", 2)),
    off("synchronisation off", "sync:rank=1,ms=10"),
    off("rotating delay off", "rotating:ms=20", "stragglers=none"),
    off("periodic delay off", "periodic:rank=1,ms=60,every=5", mean=True),
    off("checkpoint stall off", "checkpoint-stall:ms=150", "checkpoint=0", base=SAVES, mean=True)._replace(then=()),
    off("forward delay off, 4 ranks", "forward:rank=1,ms=15", ranks=4),
    off("hidden delay off, 3 ranks", "forward:rank=1,ms=6", ranks=3, base=HIDDEN)._replace(nothing=True),
    cap(1, 25), cap(1, 5), cap(25, 1),
    Pair("accumulation 1 to 4", "accumulate=4", WIDE, (*WIDE, "--accumulate", 4), device=False, passes=4),
    Pair("overlap on", "overlap=full", (*WIDE, "--overlap", "off"), WIDE),
    Pair("link at half rate", "bandwidth*0.5", link(100), link(50), hosts=2),
    Pair("link at twice the rate", "bandwidth*2", link(50), link(100), hosts=2),
)


class Driver:
    def __init__(self, options, folder, records=True):
        build = pathlib.Path(options.build)
        self.recorder, self.trainer = build / "bin/dprof", build / "bin/dprof-trainer"
        self.dprof = pathlib.Path(options.dprof or self.recorder)
        self.folder = folder
        for program in (self.dprof, *((self.recorder, self.trainer) if records else ())):
            if not program.exists():
                sys.exit(f"what-if: {program} is missing: scripts/build release")

    def call(self, words):
        clean = {key: value for key, value in os.environ.items()
                 if key not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT_S,
                              cwd=self.folder, env=clean | {"OMP_NUM_THREADS": "1"})
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]} {words[1]}: exit code {done.returncode}: {done.stderr[-300:]}")
        return done.stdout

    def record(self, pair, words, run):
        """ns of a step by the trainer's clock; cores that others used."""
        shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(self.folder / "saved", ignore_errors=True)
        truth = self.folder / "truth.json"
        truth.unlink(missing_ok=True)
        more = [str(word).format(folder=self.folder) for word in words]
        trainer = [self.trainer, *USUAL, "--truth", truth, *more]
        for rank in range(pair.ranks if pair.device else 0):
            for phase in ("forward", "backward"):
                trainer += ["--inject", f"{phase}:rank={rank},ms={DEVICE_MS / 2}"]
        with support.ForeignLoad() as load:
            if pair.hosts > 1:
                self.call([HOSTS, pair.hosts, "--", self.recorder, "record", "-o", run, "--", *trainer])
            else:
                self.call([self.recorder, "record", "-n", pair.ranks, "-o", run, "--", *trainer])
        times = json.loads(truth.read_text())["ranks"][0]["step_ns"][FIRST_STEADY:]
        return round(statistics.mean(times) if pair.mean else typical(times)), load.cores

    def measure(self, pair, number, kept):
        """One pair of runs; the folder of the first one remains where `kept` says."""
        line = {"id": f"{pair.name}/{number}", "part": "real", "kind": pair.name, "change": pair.change,
                "ranks": pair.ranks, "hosts": pair.hosts} | ({"nothing": True} if pair.nothing else {})
        cores = []
        for which in ("base", "then") if number % 2 == 0 else ("then", "base"):
            run = kept if which == "base" else self.folder / "then"
            time, used = self.record(pair, getattr(pair, which), run)
            line[f"{which}_ns"] = time if which == "base" else round(time / pair.passes)
            cores.append(used)
        return line | {"foreign_cores": round(max(cores), 2)}

    def ask(self, run, change):
        words = [self.dprof, "report", run, "--no-cache", "--format", "json", "--what-if", change]
        return json.loads(self.call(words))


def typical(times):
    """A step's mean without the twentieth at either end, which other programs made."""
    cut = len(times) // 20
    return statistics.mean(sorted(times)[cut:len(times) - cut])


def answered(line, report):
    """What dprof says, beside what was measured."""
    replay = report.get("replay") or {}
    answer = next((one for one in replay.get("whatif") or [] if one.get("asked", True)), None)
    if answer is None or answer["step_ns"] is None:
        line["refused"] = (answer or {}).get("refused") or "there is no replay of it"
        return line
    line |= {key: answer[key] for key in ("step_ns", "gain_ns", "bound_ns")}
    return line


def run(options, done, keep):
    """Each pair that often, but for those whose names are in `done`; `keep` gets each line when it is there."""
    with tempfile.TemporaryDirectory(prefix="dprof-what-if-") as scratch:
        driver = Driver(options, pathlib.Path(scratch))
        folder = pathlib.Path(options.keep).resolve() / "real" if options.keep else driver.folder / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(options.real):
            for pair in PAIRS:
                if f"{pair.name}/{number}" in done or (options.only and not re.search(options.only, pair.name)):
                    continue
                kept = folder / f"{re.sub('[^a-z0-9]+', '-', pair.name)}-{number}"
                try:
                    line = driver.measure(pair, number, kept)
                    kept.with_suffix(".json").write_text(json.dumps(line))
                    line = answered(line, driver.ask(kept, pair.change))
                except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                    line = {"id": f"{pair.name}/{number}", "part": "real", "kind": pair.name, "change": pair.change,
                            "failed": str(error)[:300]}
                if not options.keep:
                    shutil.rmtree(kept, ignore_errors=True)
                keep(line)


def again(options, keep):
    """Asks of the runs that --keep kept, with what was measured then: another dprof, the same recordings."""
    with tempfile.TemporaryDirectory(prefix="dprof-what-if-") as scratch:
        driver = Driver(options, pathlib.Path(scratch), records=False)
        for measured in sorted((pathlib.Path(options.keep).resolve() / "real").glob("*.json")):
            line = json.loads(measured.read_text())
            if options.only and not re.search(options.only, line["kind"]):
                continue
            try:
                keep(answered(line, driver.ask(measured.with_suffix(""), line["change"])))
            except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
                keep(line | {"failed": str(error)[:300]})

# SPDX-License-Identifier: Apache-2.0
"""The real half of the scoreboard: dprof-trainer and Python scripts with faults, recorded and reported.

The truth of a cost is what it costs: beside each run with a fault there is one of the same program in which the fault strikes
in blocks of steps, by turns, and the program's own clock shows how much longer these are. A virtual machine's
cores differ by ten percent from second to second; blocks that follow each other share that, whole runs do not. What other
programs did meanwhile is measured; a disturbed run is done again.

Each rank waits in forward and in backward as if a device computed (DEVICE_MS), and computes little: two cores of a virtual
machine that compute all the time differ by ten to twenty percent for seconds, which is no fault that anybody has put there.
"""
import collections
import itertools
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

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE / "train_faults.py"
FRAMEWORKS = ("lightning", "accelerate", "hugging-face")
HOSTS = support.ROOT / "scripts/hosts"
STEPS = 150
FIRST_STEADY = 8
STRETCH = 10
BLOCK, BLOCKS = 20, 11  # steps; without the fault, with it, ..., without it
GRADIENT_MBIT = 108_400 * 8 / 1e6
TIMEOUT_S = 240
FAILURES = (RuntimeError, subprocess.TimeoutExpired, OSError)  # of a program that is run
# (ranks, share of the step that the fault is to cost): at 3 ranks and more only large ones count, two cores are oversubscribed
SIZES = ((2, 0.3), (2, 0.1), (3, 0.3), (4, 0.3), (2, 0.03))
COMPUTES = 0.6   # of what a step takes beyond DEVICE_MS
DEVICE_MS = 40  # of a step, on every rank
MORE = ("--log-every", 1, "--loss-every", 1, "--batch", 8)

Kind = collections.namedtuple("Kind", "name program inject causes shape duty anyone more hosts",
                              defaults=("persistent", 1, False, (), 1))


def trainer(name, inject, causes, **how):
    return Kind(name, "trainer", inject, causes, **how)


def python(name, fault, causes, **how):
    return Kind("python-" + name, "python", fault, causes, **how)


def fsdp2(fault, causes):
    return python("fsdp2-" + fault, fault, causes, more=("--wrap", "fsdp2"))


def framework(name, fault, causes):
    """Whose packages scripts/setup --frameworks installs."""
    return Kind(f"{name}-{fault}", name, fault, causes, more=("--wrap", name))


# {rank} and {ms} (of one strike), {share} (of the work), {rate} (Mbit/s) are filled in.
KINDS = (
    trainer("compute", "compute:rank={rank},ms={ms}", ["compute"]),
    trainer("forward", "forward:rank={rank},ms={ms}", ["host"]),
    trainer("forward-spin", "forward:rank={rank},ms={ms},mode=spin", ["compute"]),
    trainer("backward", "backward:rank={rank},ms={ms}", ["host"]),
    trainer("optimizer", "optimizer:rank={rank},ms={ms}", ["compute"]),
    trainer("loader", "loader:rank={rank},ms={ms}", ["dataloader"]),
    trainer("gc-pause", "gc-pause:rank={rank},ms={ms},share=0.1", ["gc"], shape="transient", duty=0.1),
    trainer("sync", "sync:rank={rank},ms={ms}", ["synchronisation"]),
    trainer("cpu-contention", "cpu-contention:rank={rank}", ["cpu_contention"],
            more=("--batch", 128)),  # it costs nothing where a rank hardly computes
    trainer("skewed-batch", "skewed-batch:rank={rank},share={share}", ["input_imbalance"]),
    trainer("long-sequences", "long-sequences:rank={rank},share={share}", ["input_imbalance"],
            more=("--model", "bert-tiny", "--batch", 2)),
    trainer("slow-link", "slow-link:rank={rank},rate={rate},from={half}", ["network"], duty=0.5, hosts=2),
    trainer("alloc-churn", "alloc-churn:rank={rank},ms={ms},mb=2", ["allocator"]),
    trainer("empty-cache", "empty-cache:rank={rank},ms={ms}", ["allocator"]),
    trainer("checkpoint-stall", "checkpoint-stall:rank={rank},ms={ms}", ["checkpoint"], shape="periodic", duty=0.1,
            more=("--checkpoint", "{folder}/saved", "--checkpoint-every", 10)),
    trainer("logging-stall", "logging-stall:ms={ms}", ["rank0_work"]),
    trainer("transient", "transient:rank={rank},ms={ms},share=0.1", ["host", "gc"], shape="transient", duty=0.1),
    trainer("periodic", "periodic:rank={rank},ms={ms},every=5", ["host"], shape="periodic", duty=0.2),
    trainer("onset", "onset:rank={rank},ms={ms},from={half}", ["host"], duty=0.5),
    trainer("rotating", "rotating:ms={ms}", [], shape="rotating", anyone=True),  # a shape: no cause is wrong
    trainer("backward-on-hosts", "backward:rank={rank},ms={ms}", ["host"], hosts=2),
    python("loader", "loader", ["dataloader"]),
    python("forward", "forward", ["host"]),
    python("compute", "compute", ["compute"]),
    python("backward", "backward", ["host"]),
    python("log", "log", ["rank0_work", "host"]),
    python("gc", "gc", ["gc", "host"], shape="transient", duty=0.1),
    python("checkpoint", "checkpoint", ["checkpoint", "host"], shape="periodic", duty=0.1),
    fsdp2("forward", ["host"]),
    fsdp2("backward", ["host"]),
    fsdp2("compute", ["compute"]),
    fsdp2("loader", ["dataloader"]),
    *(framework(name, fault, [cause]) for name in FRAMEWORKS
      for fault, cause in (("forward", "host"), ("backward", "host"), ("compute", "compute"), ("loader", "dataloader"))),
)


class Driver:
    def __init__(self, options, folder, kinds):
        build = pathlib.Path(options.build)
        self.dprof, self.trainer = build / "bin/dprof", build / "bin/dprof-trainer"
        self.folder, self.loud = folder, options.loud
        venv = os.environ.get("DPROF_TORCH_VENV") or subprocess.run(
            [support.ROOT / "scripts/setup", "--print"], capture_output=True, text=True).stdout.strip()
        self.venv = pathlib.Path(venv)
        self.usual = {}  # ns of a healthy step, by what is run: the first guess of sizes
        for program in {self.dprof, self.trainer, *(self.python(kind) for kind in kinds)}:
            if not program.exists():
                sys.exit(f"scoreboard: {program} is missing: scripts/build release; scripts/setup --frameworks")

    def python(self, kind):
        return self.venv / ("frameworks/bin/python" if kind.program in FRAMEWORKS else "bin/python")

    def command(self, kind, ranks, faults, steps, run):
        """What is recorded; `faults` are its words."""
        if is_script(kind):
            words = [self.python(kind), "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", SCRIPT,
                     "--steps", steps, "--batch", 8, "--device-ms", DEVICE_MS, "--times", self.folder / "times.json"]
            return [*words, *kind.more, *faults]
        more = [str(word).format(folder=run.parent) for word in kind.more]
        options = dict(zip(MORE[::2], MORE[1::2])) | dict(zip(more[::2], more[1::2]))  # a kind's own instead of the usual
        words = [self.trainer, "--steps", steps, "--truth", self.folder / "truth.json", "--threads", 1,
                 *itertools.chain.from_iterable(options.items())]
        for rank in range(ranks):
            for phase in ("forward", "backward"):
                words += ["--inject", f"{phase}:rank={rank},ms={DEVICE_MS / 2}"]
        return [*words, *faults]

    def record(self, kind, ranks, faults, steps=STEPS):
        """(ns of each step by the program's own clock, the run's folder, cores that others used)."""
        for _ in range(1 if self.loud else support.ATTEMPTS):
            run = self.folder / "run"
            for old in self.folder.glob("*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            words = [str(word) for word in self.command(kind, ranks, faults, steps, run)]
            with support.ForeignLoad() as load:
                if kind.hosts > 1:
                    self.record_hosts(words, ranks, kind.hosts, run)
                else:
                    self.record_here(words, kind, ranks, run)
            if load.cores < support.QUIET_CORES:
                break
        return self.step_times(kind), run, load.cores

    def report(self, run):
        return read_report(self.dprof, run)

    def record_here(self, words, kind, ranks, run):
        launch = [] if is_script(kind) else ["-n", ranks]  # torchrun starts Python's ranks
        call([self.dprof, "record", *launch, "-o", run, "--", *words], self.folder)

    def record_hosts(self, words, ranks, hosts, run):
        """A recorder per rank; they meet through the run's folder."""
        start = [HOSTS, hosts, "--ranks-per-host", ranks // hosts, "--"]
        call([*start, self.dprof, "record", "-o", run, "--", *words], self.folder)

    def step_times(self, kind):
        if is_script(kind):
            return json.loads((self.folder / "times.json").read_text())
        truth = json.loads((self.folder / "truth.json").read_text())
        return truth["ranks"][0]["step_ns"]

    def fault(self, kind, ranks, size, number, usual):
        """(the fault's words without the moment, its rank); `usual` = ns of a healthy step: the first guess of sizes."""
        extra_ms = size / (1 - size) * usual / 1e6
        rank = 0 if kind.name in ("logging-stall", "python-log", "checkpoint-stall") else (1 + number) % ranks
        ms = f"{extra_ms / kind.duty:.3f}"
        if is_script(kind):
            return ["--fault", kind.inject, "--rank", rank, "--ms", ms], rank
        rate = GRADIENT_MBIT * 1000 / max(0.2, extra_ms / kind.duty)
        share = extra_ms / max(1, COMPUTES * (usual / 1e6 - DEVICE_MS))
        return kind.inject.format(rank=rank, ms=ms, share=f"{share:.3f}", rate=f"{rate:.1f}", half="{half}"), rank

    def cost(self, kind, ranks, fault):
        """(mean, standard error) in ns of what a step with the fault takes more, in a run in which it comes and goes."""
        if is_script(kind):
            words = [*fault, "--block", BLOCK]
        else:
            plain = fault.replace(",from={half}", "")
            words = [word for b in range(1, BLOCKS, 2)
                     for word in ("--inject", f"{plain},from={b * BLOCK},to={(b + 1) * BLOCK}")]
        times, _, _ = self.record(kind, ranks, words, BLOCK * BLOCKS)
        return cost_by_turns(times)

    def round(self, kind, ranks, size, number):
        """Lines of a run with a fault and, if there was none of the like yet in this round, of a healthy one."""
        lines, key = [], (number, kind.program, kind.more, ranks, kind.hosts)
        if key not in self.usual:
            times, run, cores = self.record(kind, ranks, [])
            self.usual[key] = statistics.mean(times[FIRST_STEADY:])
            lines.append(self.line(kind, ranks, 0, number, self.report(run), cores, [], 0, self.usual[key]))
        fault, rank = self.fault(kind, ranks, size, number, self.usual[key])
        words = fault if is_script(kind) else ["--inject", fault.format(half=STEPS // 2)]
        times, run, cores = self.record(kind, ranks, words)
        report = self.report(run)
        if is_rare(kind):
            cost, error = cost_of_strikes(times, kind)
        elif kind.name == "slow-link":  # a link is limited once in a run
            cost, error = cost_by_onset(times)
        else:
            cost, error = self.cost(kind, ranks, fault)
        if "{half}" in kind.inject:  # the steps before it count, too
            lasts = (STEPS - STEPS // 2) / (STEPS - FIRST_STEADY)
            cost, error = lasts * cost, lasts * error
        expected = [{"ranks": [] if kind.anyone else [rank], "host": None, "causes": kind.causes, "shape": kind.shape,
                     "cost_ns": round(cost), "cost_error_ns": round(error)}]
        lines.append(self.line(kind, ranks, size, number, report, cores, expected, cost, statistics.mean(times[FIRST_STEADY:])))
        return lines

    def line(self, kind, ranks, size, number, report, cores, expected, cost, step):
        shown = kind.name if size else f"{kind.program} on {kind.hosts} host{'s' if kind.hosts > 1 else ''}"
        return line_of(report, cores, (ranks, kind.hosts), id=name(kind, ranks, size, number), kind=shown, size=size,
                       impact=cost / step, expected=expected, step_ns=round(step))


def line_of(report, cores, spec, **about):
    """The scoreboard's line of a run: what is known of it, and what the report says."""
    line = {"part": "real", **about, "foreign_cores": round(cores, 2), "spec": {"ranks": spec[0], "hosts": spec[1]},
            "stragglers": report["stragglers"], "finding": (report["findings"] or [None])[0],
            "floor_ns": (report.get("detection") or {}).get("floor_ns")}
    for s in line["stragglers"] or []:
        s.pop("evidence", None)
    if line["stragglers"] is None:
        line["unknown"] = "; ".join(d["text"] for d in report["recording"]["diagnostics"] if "straggler" in d["text"])
    links = report.get("slow_links")
    if links and links["groups"]:
        line["slow_links"] = {"suspects": links["suspects"], "ranks": sorted({r for g in links["groups"] for r in g["ranks"]})}
    return line


def line_of_failure(error, **about):
    return {"part": "real", **about, "failed": str(error)[:300]}


def read_report(dprof, run, environment=None):
    return json.loads(call([dprof, "report", run, "--format", "json", "--no-cache"], run.parent, environment))


def call(words, folder, environment=None):
    """What the program prints; RuntimeError if it fails."""
    keep = {key: value for key, value in (environment or os.environ).items()
            if key not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder,
                          env=keep | {"OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        said = done.stderr[-400:].replace(str(folder), "")  # it is kept: no paths of this machine
        raise RuntimeError(f"{pathlib.Path(words[0]).name} {words[1]}: exit code {done.returncode}: {said}")
    return done.stdout


def name(kind, ranks, size, number):
    return f"{kind.name}/{f'{100 * size:.0f}%' if size else 'healthy'}/{number}/{ranks}x{kind.hosts}"


def is_script(kind):
    """Whether it is train_faults.py, not dprof-trainer."""
    return kind.program != "trainer"


def is_rare(kind):
    """Whether it strikes few steps, each of them hard."""
    return kind.shape in ("transient", "periodic")


def cost_of_strikes(times, kind):
    """(mean, standard error) in ns of what a step takes more by the steps that are struck, which stand out of the others."""
    times = times[FIRST_STEADY:]
    share = kind.duty / 2  # even where chance strikes seldom
    usual = statistics.median(times)
    least = (sorted(times)[-max(2, round(share * len(times)))] - usual) / 2
    struck = [time for time in times if time - usual > least]
    quiet = [time for time in times if time - usual <= least]
    error = (statistics.variance(struck) / len(struck) + statistics.variance(quiet) / len(quiet)) ** 0.5
    share = len(struck) / len(times)
    return share * (statistics.mean(struck) - statistics.mean(quiet)), share * error


def cost_by_onset(times):
    """(mean, standard error) in ns of what a step takes more once the fault has begun, in the middle of the run; by
    stretches."""
    def stretches(begin, end):
        return [typical(times[s:s + STRETCH]) for s in range(begin, end - STRETCH + 1, STRETCH)]
    before, after = stretches(FIRST_STEADY, STEPS // 2), stretches(STEPS // 2 + 1, STEPS)
    error = (statistics.variance(before) / len(before) + statistics.variance(after) / len(after)) ** 0.5
    return statistics.mean(after) - statistics.mean(before), error


def typical(times):
    """A step's mean without the twentieth at either end, which other programs made."""
    cut = len(times) // 20
    return statistics.mean(sorted(times)[cut:len(times) - cut])


def cost_by_turns(times):
    """Of each block with the fault, what its steps take more than those of its two neighbours."""
    blocks = [typical(times[max(b * BLOCK, FIRST_STEADY):(b + 1) * BLOCK]) for b in range(BLOCKS)]
    costs = [blocks[b] - (blocks[b - 1] + blocks[b + 1]) / 2 for b in range(1, BLOCKS, 2)]
    return statistics.mean(costs), statistics.stdev(costs) / len(costs) ** 0.5


def counts(line):
    """At 3 ranks and more only impacts of 10 % and more count."""
    return not line["expected"] or line["spec"]["ranks"] < 3 or line["impact"] >= 0.1


def run(options, done, keep):
    """Each kind that often, in turns over the sizes, but for those whose names are in `done`. `keep` gets the lines of the runs
    that count as each is done."""
    kinds = [kind for kind in KINDS if not options.only or re.search(options.only, kind.name)]
    kinds.sort(key=lambda kind: (kind.program, kind.more, kind.hosts))  # neighbours share healthy runs
    with tempfile.TemporaryDirectory(prefix="dprof-scoreboard-") as folder:
        driver = Driver(options, pathlib.Path(folder), kinds)
        for number in range(options.real):
            for kind in kinds:
                ranks, size = SIZES[number % len(SIZES)]
                if kind.hosts > 1:
                    ranks = 2 if ranks < 4 else 4
                if name(kind, ranks, size, number) in done:
                    continue
                try:
                    lines = driver.round(kind, ranks, size, number)
                except FAILURES as error:
                    lines = [line_of_failure(error, id=name(kind, ranks, size, number), kind=kind.name, size=size)]
                keep([line for line in lines if line.get("failed") or counts(line)])

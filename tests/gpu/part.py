# SPDX-License-Identifier: Apache-2.0
"""What the parts of the GPU check share: their results, running jobs, looking into traces."""
import dataclasses
import json
import os
import pathlib
import random
import re
import shlex
import sqlite3
import statistics
import subprocess

MEASURED, FAILED, NOT_MEASURED, REHEARSED = "measured", "failed", "not measured", "rehearsed on the fake, not measured"
HERE = pathlib.Path(__file__).resolve().parent
TAIL = 3000  # characters of a failed command's output that are kept


@dataclasses.dataclass
class Figure:
    name: str
    value: float | int | str | None
    unit: str = ""
    low: float | None = None  # 95 % interval
    high: float | None = None
    n: int | None = None

    def text(self):
        number = f"{self.value:.4g}" if isinstance(self.value, float) else str(self.value)
        text = f"{self.name} {number}{' ' + self.unit if self.unit else ''}"
        if self.low is not None:
            text += f" (95 %: {self.low:.3g} to {self.high:.3g})"
        return text


class Broken(Exception):
    """An expectation that did not hold, or a command that failed: the part has failed."""


class Missing(Exception):
    """Something that this machine lacks: the part is not measured, and says why."""


class Trace:
    """One rank's SQLite file, read only."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.database = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        self.meta = dict(self.database.execute("SELECT key, value FROM meta"))

    def rows(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def kernels(self):
        return self.value("SELECT count(*) FROM gpu_activity WHERE kind = 0")

    def joined_share(self):
        """Of the kernels, those whose launch is there, too."""
        joined = self.value("SELECT count(*) FROM gpu_activity g WHERE kind = 0 AND EXISTS "
                            "(SELECT 1 FROM host_range h WHERE h.correlation = g.correlation)")
        return joined / max(1, self.kernels())

    def losses(self):
        return self.rows("SELECT source, reason, count FROM loss_text")


class Part:
    """What a part works with: the bundle, a folder of its own, the commands that it ran, its figures and checks."""

    def __init__(self, bundle, folder, python, seconds, on_gpu=True):
        self.bundle, self.folder, self.python = pathlib.Path(bundle), pathlib.Path(folder), python
        self.seconds = seconds  # that the part may take
        self.on_gpu = on_gpu    # else its commands are rehearsed on the CPU
        self.commands, self.figures, self.checks, self.traces, self.log = [], [], [], [], []
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def dprof(self):
        return self.bundle / "bin/dprof"

    @property
    def trainer(self):
        return self.bundle / "bin/dprof-trainer"

    @property
    def backend(self):
        return "nccl" if self.on_gpu else "gloo"

    def steps(self, count):
        return "--steps", count if self.on_gpu else min(count, 40)

    def training(self, *arguments):
        """The Python job, as the words of a command."""
        return self.python, HERE / "train.py", *arguments, *([] if self.on_gpu else ["--device", "cpu", "--batch", 8])

    def environment(self, program=None, **more):
        keep = ("PATH", "HOME", "CUDA_VISIBLE_DEVICES", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
        clean = {name: os.environ[name] for name in keep if name in os.environ}
        clean.setdefault("HOME", str(self.folder))
        clean["OMP_NUM_THREADS"] = "1"
        if program == "trainer":  # the only program that needs torch's libraries from outside of Python
            clean["LD_LIBRARY_PATH"] = ":".join([*torch_folders(self.python), *filter(None, [clean.get("LD_LIBRARY_PATH")])])
        clean.update(more)
        return clean

    def shown(self, words):
        text = shlex.join(str(word) for word in words)
        for path, name in ((self.folder, "OUT"), (self.bundle, "DIR"), (self.python, "python3")):
            text = text.replace(str(path), name)
        return text

    def note(self, words, done, output):
        self.log.append(f"$ {self.shown(words)}\n{output[-TAIL:]}\n[{done}]")

    def run(self, *words, program=None, want=0, timeout=None, **more):
        """Gives stdout. Another exit code than `want` (a number, or several) is a failure of the part."""
        self.commands.append(self.shown(words))
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=self.folder, timeout=timeout,
                              env=self.environment(program, **more), errors="replace")
        self.note(words, done.returncode, done.stdout + done.stderr)
        if want is not None and done.returncode not in (want if isinstance(want, tuple) else (want,)):
            raise Broken(f"{self.shown(words)} ended with {done.returncode}: {last_line(done.stderr or done.stdout)}")
        return done.stdout

    def start(self, *words, program=None, **more):
        self.commands.append(self.shown(words))
        return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                cwd=self.folder, env=self.environment(program, **more), errors="replace")

    def record(self, *job, run="run", options=(), program=None, want=(0, 5), ranks=1, **more):
        launcher = ["-n", ranks] if ranks else []
        return self.run(self.dprof, "record", *launcher, "--overwrite", "-o", self.folder / run, *options, "--", *job,
                        program=program, want=want, **more)

    def record_trainer(self, *arguments, **how):
        return self.record(self.trainer, "--backend", self.backend, *arguments, program="trainer", **how)

    def record_python(self, *arguments, **how):
        return self.record(*self.training(*arguments), **how)

    def trace(self, run="run", rank=0):
        path = self.folder / run / f"rank-{rank:05}.dprof"
        if not path.exists():
            raise Broken(f"rank {rank} left no trace")
        trace = Trace(path)
        self.traces.append(trace)
        return trace

    def figure(self, name, value, unit="", low=None, high=None, n=None):
        self.figures.append(Figure(name, value, unit, low, high, n))

    def expect(self, what, holds, found):
        """An expectation with what was found; the part fails at its end if one does not hold."""
        self.checks.append({"expected": what, "holds": bool(holds), "found": str(found)})

    def broken(self):
        return [f"{check['expected']}: found {check['found']}" for check in self.checks if not check["holds"]]


def torch_folders(python):
    """Where the libraries of that Python's torch lie, and NVIDIA's beside it."""
    code = ("import importlib.util, pathlib; root = pathlib.Path(importlib.util.find_spec('torch').origin).parent; "
            "print(root / 'lib', *sorted(map(str, root.parent.glob('nvidia/*/lib'))), sep=chr(10))")
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing("no torch in that Python")
    return done.stdout.split()


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


def last_json(output):
    """The last line that is JSON; ranks may be named in front of it."""
    for line in reversed(output.splitlines()):
        at = line.find("{")
        if at >= 0:
            try:
                return json.loads(line[at:])
            except ValueError:
                continue
    raise Broken(f"the job printed no result: {last_line(output)}")


def trainer_step_ms(output):
    found = re.search(r"median ([\d.]+) ms per step", output)
    if not found:
        raise Broken(f"the trainer printed no times: {last_line(output)}")
    return float(found.group(1))


def interval(values, resamples=2000):
    """95 % bootstrap interval of the median."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(resamples))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]

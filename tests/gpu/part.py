# SPDX-License-Identifier: Apache-2.0
"""What the parts of the GPU check share: questions and results, running jobs, looking into traces."""
import dataclasses
import json
import os
import pathlib
import re
import shlex
import sqlite3
import subprocess
import sys
import time

import machine
import processes

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from paired import interval  # noqa: E402, F401

MEASURED, FAILED, NOT_MEASURED, REHEARSED = "measured", "failed", "not measured", "rehearsed on the fake, not measured"
# How a part is rehearsed where there is no GPU.
FAKE, CPU = "on the fake driver and CUPTI", "its commands run on the CPU"
HERE = pathlib.Path(__file__).resolve().parent
# What `dprof record -n 1` sets for the only rank: the same job without dprof is the same job only with it.
ONE_RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29871"}
MOST_OUTPUT = 6000  # characters of a command's output that the log keeps
MARGIN_S = 3        # of a part's time, for what it does after its last command


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    asks: str
    limit_s: int
    answer: object         # Part → str: the answer in a few words
    rehearse: str = CPU    # FAKE, CPU; or a function as `answer`, for a stand-in of its own
    keep: tuple = ()       # traces that may become fixtures: (run, rank); other files: (file, None)


@dataclasses.dataclass
class Figure:
    name: str
    value: float | int | str | None
    unit: str = ""
    low: float | None = None  # 95 % interval
    high: float | None = None
    n: int | None = None

    def text(self):
        number = f"{self.value:.4g}" if isinstance(self.value,
                                                   float) else "not known" if self.value is None else str(self.value)
        text = f"{self.name}: {number}{' ' + self.unit if self.unit else ''}"
        if self.low is not None:
            text += f" (95 %: {self.low:.3g} to {self.high:.3g})"
        return text + (f", n = {self.n}" if self.n is not None else "")


class Broken(Exception):
    """A command that failed, or something without which nothing can be said: the part has failed."""


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

    def joined(self):
        """Kernels whose launch is there, too."""
        return self.value("SELECT count(*) FROM gpu_activity WHERE kind = 0 AND correlation IN "
                          "(SELECT correlation FROM host_range WHERE correlation IS NOT NULL)")

    def calls(self, *patterns):
        """How many host ranges have such a name."""
        where = " OR ".join("value GLOB ?" for _ in patterns)
        return self.value(f"SELECT count(*) FROM host_range JOIN string ON string.id = name_id WHERE {where}", *patterns)

    def losses(self):
        return self.rows("SELECT source, reason, count FROM loss_text")


class Part:
    """What a part works with: the bundle, a folder of its own, the commands that it ran, its figures and checks.

    All of it is written after each step, so that a part that is cut leaves what it had."""

    def __init__(self, question, options):
        self.question = question
        self.bundle, self.python = pathlib.Path(options.bundle), options.python
        self.mode = "gpu" if not options.rehearse else "cpu" if question.rehearse == CPU else "fake"
        self.on_gpu = self.mode == "gpu"
        self.folder = pathlib.Path(options.scratch) / question.name
        self.shared_folder = pathlib.Path(options.scratch) / "shared"
        self.end = time.monotonic() + options.seconds
        self.commands, self.figures, self.checks = [], [], []
        self.folder.mkdir(parents=True, exist_ok=True)

    # Results

    def figure(self, name, value, unit="", low=None, high=None, n=None):
        self.figures.append(Figure(name, value, unit, low, high, n))
        self.save()

    def expect(self, what, holds, found):
        """An expectation with what was found; the part fails at its end if one does not hold."""
        self.checks.append({"expected": what, "holds": bool(holds), "found": str(found)})
        self.save()

    def broken(self):
        return [f"expected {check['expected']}, found {check['found']}" for check in self.checks if not check["holds"]]

    def result(self, **more):
        return {"name": self.question.name, "asks": self.question.asks, "answer": "", "why": "", "commands": self.commands,
                "figures": [dataclasses.asdict(figure) for figure in self.figures], "checks": self.checks, **more}

    def save(self, **more):
        file = self.folder / "result.json"
        half = file.with_suffix(".part")
        half.write_text(json.dumps(self.result(**{"status": FAILED, **more})))
        half.rename(file)

    def log(self, text):
        with open(self.folder / "log.txt", "a") as file:
            file.write(text + "\n")

    def left(self):
        """Seconds that commands may still take."""
        return max(1.0, self.end - time.monotonic() - MARGIN_S)

    # Jobs

    @property
    def dprof(self):
        return self.bundle / "bin/dprof"

    @property
    def probe(self):
        return self.bundle / "test_bin/launch_probe"

    def steps(self, count, on_cpu=12):
        return "--steps", count if self.on_gpu else min(count, on_cpu)

    def trainer_job(self, *arguments):
        """The C++ job, as the words of a command."""
        return self.bundle / "bin/dprof-trainer", "--backend", "nccl" if self.on_gpu else "gloo", *arguments

    def python_job(self, *arguments):
        return self.python, HERE / "train.py", *arguments, *([] if self.on_gpu else ["--device", "cpu"])

    def environment(self, program=None, **more):
        keep = ("PATH", "HOME", "CUDA_VISIBLE_DEVICES", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
        clean = {name: os.environ[name] for name in keep if name in os.environ}
        clean.setdefault("HOME", str(self.folder))
        clean.update(OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1")
        folders = clean.get("LD_LIBRARY_PATH", "").split(":")
        if program == "trainer":  # the only program that needs torch's libraries from outside of Python
            torch = machine.torch_folder(self.python)
            if torch is None:
                raise Missing("no Python with torch")
            folders = [*map(str, machine.library_folders(torch)), *folders]
        if self.mode == "fake":
            folders = [str(self.bundle / "test_bin/fake_cuda"), *folders]
            clean.update(DPROF_CUPTI_LIBRARY=str(self.bundle / "test_bin/libfake_cupti.so"),
                         DPROF_NVML_LIBRARY=str(self.bundle / "test_bin/libdprof_test_fake_nvml.so"))
        if any(folders):
            clean["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
        clean.update(more)
        return clean

    def shown(self, words, **environment):
        text = shlex.join([*(f"{name}={value}" for name, value in environment.items()), *map(str, words)])
        for path, name in ((self.folder, "OUT"), (self.shared_folder, "OUT"), (self.bundle, "DIR"), (HERE, "DIR/tests/gpu"),
                           (self.python, "python3")):
            text = text.replace(str(path), name)
        return text

    def start(self, *words, program=None, **more):
        """A command in a session of its own, as from a terminal; its output goes to a file."""
        self.commands.append(self.shown(words, **more))
        self.save()
        output = self.folder / f"output-{len(self.commands)}.txt"
        with open(output, "wb") as file:
            process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT,
                                       cwd=self.folder, env=self.environment(program, **more), start_new_session=True)
        process.output, process.text = output, self.shown(words, **more)
        return process

    def finish(self, process, timeout=None, want=(0,)):
        """Waits for a command's end; gives its output. Another exit code than those of `want` is a failure of the part."""
        timeout = min(self.left(), timeout or self.left())
        try:
            process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            last = last_line(output_text(process))
            processes.end_below(process.pid)
            process.kill()
            process.wait()
            self.note(process, f"cut after {timeout:.0f} s")
            raise Broken(f"{process.text} took longer than {timeout:.0f} s: {last}") from None
        output = self.note(process, f"exit code {process.returncode}")
        if want is not None and process.returncode not in want:
            raise Broken(f"{process.text} ended with {process.returncode}: {last_line(output)}")
        return output

    def note(self, process, how):
        output = output_text(process)
        cut = output if len(output) <= MOST_OUTPUT else f"{output[:MOST_OUTPUT // 3]}\n…\n{output[-MOST_OUTPUT * 2 // 3:]}"
        self.log(f"$ {process.text}\n{cut.rstrip()}\n[{how}]\n")
        return output

    def run(self, *words, program=None, want=(0,), timeout=None, **more):
        """Gives what the command printed."""
        return self.finish(self.start(*words, program=program, **more), timeout, want)

    def start_record(self, *job, run="run", options=(), program=None, ranks=1, **more):
        launcher = ["-n", ranks] if ranks else []
        return self.start(self.dprof, "record", *launcher, "--overwrite", "-o", self.folder / run, *options, "--", *job,
                          program=program, **more)

    def record(self, *job, want=(0, 5), timeout=None, **how):
        return self.finish(self.start_record(*job, **how), timeout, want)

    def record_trainer(self, *arguments, **how):
        return self.record(*self.trainer_job(*arguments), program="trainer", **how)

    def record_python(self, *arguments, **how):
        return self.record(*self.python_job(*arguments), **how)

    def record_kernels(self, seconds=4, **how):
        """A job with kernels, copies, events and a graph: the C++ trainer, or what stands in for it."""
        if self.mode == "fake":
            return self.record(self.probe, "loop", "--seconds", seconds, **how)
        return self.record_trainer(*self.steps(60), **how)

    def control(self, run, *words):
        """dprof ctl; not listed among the commands."""
        done = subprocess.run([str(self.dprof), "ctl", str(self.folder / run), *words], capture_output=True, text=True,
                              timeout=20,
                              env=self.environment())
        if done.returncode != 0:
            raise Broken(f"dprof ctl {' '.join(words)} ended with {done.returncode}: {last_line(done.stderr)}")

    def trace(self, run="run", rank=0):
        path = self.folder / run / f"rank-{rank:05}.dprof"
        if path.exists():
            return Trace(path)
        # A trace that somebody read when the job ended keeps its working name.
        for other in sorted((self.folder / run).glob("*.dprof")):
            trace = Trace(other)
            if trace.meta.get("rank") == str(rank):
                return trace
        raise Broken(f"rank {rank} left no trace in {run}")

    def shared(self, name, record):
        """The trace of a run that several parts look at: `record(self)` makes it in the folder `run`, for the first of them."""
        place = self.shared_folder / name
        commands = place / "commands.json"
        if commands.exists():
            self.commands += json.loads(commands.read_text())
        else:
            before, own = len(self.commands), self.folder
            self.folder = place
            place.mkdir(parents=True, exist_ok=True)
            try:
                record(self)
            finally:
                self.folder = own
                if (place / "log.txt").exists():
                    self.log((place / "log.txt").read_text())
            commands.write_text(json.dumps(self.commands[before:]))
        return Trace(place / "run/rank-00000.dprof")


def output_text(process):
    return process.output.read_text(errors="replace")


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip() and not line.startswith(("dprof: next:", "hint:"))]
    return lines[-1].strip()[:300] if lines else "it said nothing"


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


def wait_until(condition, seconds, what):
    """What `condition()` gives as soon as it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.05)
    raise Broken(f"not within {seconds:.0f} s: {what}")

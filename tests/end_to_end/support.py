# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end cases share: the programs under test, recording, traces, reports, processes."""
import json
import os
import pathlib
import resource
import shutil
import socket
import sqlite3
import subprocess
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BIN = pathlib.Path(os.environ.get("DPROF_BIN_DIR", ROOT / "build/release/bin")).resolve()
DPROF = BIN / "dprof"
TRAINER = BIN / "dprof-trainer"
GUI = BIN / "dprof-gui"

MS = 1_000_000
ATTEMPTS = 3
QUIET_CORES = 0.3
# Of the trainer: 6 s in which its ranks mostly sleep.
IN_NO_HURRY = ("--steps", 200, "--batch", 4, "--inject", "forward:rank=0,ms=30")
CONVNET_GRADIENT_BYTES = 108_400  # 27,100 parameters of 4 bytes, in one bucket


class Trace:
    """One rank's SQLite file, opened for reading."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            self.meta = dict(self.db.execute("SELECT key, value FROM meta"))
        except sqlite3.Error:
            self.db.close()
            raise

    def close(self):
        self.db.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.db.execute(sql, values).fetchone()[0]

    def ranges_named(self, pattern):
        return self.rows(
            "SELECT start_ns, duration_ns FROM host_range JOIN string ON string.id = name_id "
            "WHERE value GLOB ? ORDER BY start_ns", pattern)

    def collectives(self, function):
        return self.rows(
            "SELECT sequence, bytes, enqueue_ns, start_ns, end_ns FROM collective_text WHERE function = ? "
            "ORDER BY sequence", function)

    def losses(self):
        return self.rows("SELECT source, reason, count FROM loss_text")


class EndToEnd(unittest.TestCase):
    """A case with a fresh folder of its own, whose processes are ended with it."""

    maxDiff = None
    programs = (DPROF,)  # what every case of the class needs

    def setUp(self):
        scratch = pathlib.Path(os.environ.get("DPROF_SCRATCH_DIR", ROOT / "build/end_to_end"))
        self.folder = scratch / os.environ.get("DPROF_CASE", self.id())
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.run_folder = self.folder / "run"
        self.processes = []
        self.traces = []
        for program in self.programs:
            self.need(program)

    def tearDown(self):
        for trace in self.traces:
            trace.close()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    # What is there

    def need(self, program):
        """Skips without a part that this build leaves out; a part that should be there and is not is a failure."""
        if program.exists():
            return
        feature = {TRAINER: "DPROF_HAVE_TORCH", GUI: "DPROF_HAVE_QT"}.get(program)
        if feature and os.environ.get(feature) == "OFF":
            self.skipTest(f"{program.name} is not part of this build ({feature}=OFF)")
        self.fail(f"{program} is missing: build it first")

    def need_trainer(self):
        self.need(TRAINER)

    def need_python_torch(self):
        """The Python of the virtual environment that has torch."""
        venv = os.environ.get("DPROF_TORCH_VENV")
        if not venv:
            venv = subprocess.run([ROOT / "scripts/setup", "--print"], capture_output=True, text=True).stdout.strip()
        python = pathlib.Path(venv) / "bin/python"
        # Whether it is there: importing it would take 2 s in each case.
        if not python.exists() or not list(python.parents[1].glob("lib/python3*/site-packages/torch/__init__.py")):
            self.skipTest("Python's torch is not there: scripts/setup --python installs it")
        return python

    # Running

    def environment(self, **more):
        """A launcher's variables from outside must not reach the job."""
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("OMPI_", "PMI", "SLURM_", "DPROF_"))
                 and key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "LD_PRELOAD")}
        clean.setdefault("OMP_NUM_THREADS", "1")
        clean.update(more)
        return clean

    def command(self, *arguments, timeout=100, **environment):
        return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, env=self.environment(**environment))

    def start(self, *arguments, **environment):
        process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.folder, env=self.environment(**environment))
        self.processes.append(process)
        return process

    def record(self, *command, ranks=None, options=(), want=0, run=None, **environment):
        launcher = [] if ranks is None else ["-n", ranks]
        done = self.command(DPROF, "record", *launcher, "-o", run or self.run_folder, *options, "--", *command,
                            **environment)
        self.assertEqual(done.returncode, want, f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def record_trainer(self, *arguments, ranks=2, **how):
        """Records dprof-trainer; gives its truth."""
        self.need_trainer()
        truth = self.folder / "truth.json"
        self.record(TRAINER, "--truth", truth, *arguments, ranks=ranks, **how)
        return json.loads(truth.read_text())

    def spawned(self, *arguments, ranks=2, want=0, timeout=100, **environment):
        """What dprof-trainer's ranks print, all of them started by one process: it loads LibTorch once. 0 ranks: a single
        process."""
        launch = ("--spawn", ranks) if ranks else ()
        done = self.command(TRAINER, *launch, *arguments, timeout=timeout, **environment)
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def trace(self, rank, run=None):
        trace = Trace((run or self.run_folder) / f"rank-{rank:05}.dprof")
        self.traces.append(trace)
        return trace

    def undisturbed(self, record):
        """What `record` returns, from a run during which other programs left it its cores: times of another show nothing.

        A run is done again for a measured disturbance only, never for its result."""
        for _ in range(ATTEMPTS):
            with ForeignLoad() as load:
                result = record()
            if load.cores < QUIET_CORES:
                return result
            shutil.rmtree(self.run_folder)
        return self.skipTest(f"other programs used {load.cores:.1f} cores meanwhile: delays cannot be judged")

    def report(self, run=None, want=0):
        done = self.command(DPROF, "report", run or self.run_folder, "--format", "json")
        self.assertEqual(done.returncode, want, done.stderr)
        (self.folder / "report.json").write_text(done.stdout)
        return json.loads(done.stdout)

    # Checks

    def check_whole(self, trace):
        self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
        self.assertEqual(trace.value("PRAGMA application_id"), 0x44505246)

    def check_breakdown(self, report, ranks):
        """Every rank's categories sum to its wall time, to the nanosecond."""
        breakdown = report["breakdown"]
        self.assertIsNotNone(breakdown, report["recording"]["diagnostics"])
        self.assertEqual([entry["rank"] for entry in breakdown["per_rank"]], list(range(ranks)))
        for entry in breakdown["per_rank"]:
            self.assertEqual(set(entry["category_ns"]), set(breakdown["categories"]))
            self.assertEqual(sum(entry["category_ns"].values()), entry["wall_ns"], entry)
            self.assertGreater(entry["wall_ns"], 0)
            self.assertTrue(all(value >= 0 for value in entry["category_ns"].values()), entry)

    def check_culprit(self, report, rank, delay_ns, causes):
        """The most expensive straggler is `rank`, for one of `causes`, at a cost within 20 % of the injected delay."""
        self.assertTrue(report["stragglers"], f"nobody is named: {report['stragglers']}")
        first = report["stragglers"][0]
        self.assertEqual(first["rank"], rank, first)
        self.assertIn(first["cause"], causes, first)
        self.assertLess(abs(first["cost_ns"] - delay_ns), 0.2 * delay_ns, f"{first['cost_ns']} ns for {delay_ns} ns")
        self.assertIn(rank, report["findings"][0]["ranks"], report["findings"][0])


class ForeignLoad:
    """How many cores other programs (or, in a virtual machine, other machines) used within a `with` block."""

    def __enter__(self):
        self.begin = time.monotonic(), self.machine_seconds(), self.own_seconds()
        return self

    def __exit__(self, *_):
        elapsed = time.monotonic() - self.begin[0]
        foreign = (self.machine_seconds() - self.begin[1]) - (self.own_seconds() - self.begin[2])
        self.cores = max(0, foreign) / elapsed

    @staticmethod
    def machine_seconds():
        user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def own_seconds():
        uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(use.ru_utime + use.ru_stime for use in uses)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def is_alive(pid):
    """Not gone, and not waiting for its parent either: then its files are closed."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def descendants(pid):
    """Process ids of all children, and theirs, of `pid`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(entry.name))
    found = list(parents.get(pid, []))
    for child in found:
        found.extend(parents.get(child, []))
    return found


def recorder_of(process):
    """The process id of who records, below the dprof that was started; None while it is not there."""
    for child in descendants(process.pid):
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "dprof-recorder\n":
                return child
        except OSError:
            continue
    return None


def rank_process(pid, program, rank):
    """The process id of one rank of `program` below `pid`, or None while it is not there."""
    for child in descendants(pid):
        try:
            environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            name = pathlib.Path(os.readlink(f"/proc/{child}/exe")).name
        except OSError:
            continue
        if name == program and f"RANK={rank}".encode() in environment:
            return child
    return None

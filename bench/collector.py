# SPDX-License-Identifier: Apache-2.0
"""The collector's costs against their targets, as one table.

  collector.py --build build/release [--python PYTHON] [--quick]

A verdict is "met" or "not met" where the whole 95 % interval is on one side of the target, and "not decided" where the target
lies within it. A percentile is met when the median over several runs is. "not measured" says why. --quick makes fewer runs,
and leaves out the step time of a training run, which `scripts/bench overhead` measures.
"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import paired

MET, NOT_MET, UNDECIDED, NOT_MEASURED = "met", "not met", "not decided", "not measured"


class NotMeasured(Exception):
    """The text says why."""


class Bench:
    def __init__(self, options, scratch):
        self.bin = options.build / "bin"
        self.library = options.build / "lib/libdprof.so"
        self.probe = options.build / "test_bin/nvtx_probe"
        self.quick = options.quick
        self.scratch = scratch
        self.rows = []

    # Running

    def run(self, *command, timeout=300, **environment):
        program = pathlib.Path(command[0])
        if program.is_absolute() and not program.exists():
            raise NotMeasured(f"{program.name} is not built")
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                              env=dict(os.environ, **environment))
        if done.returncode != 0:
            raise NotMeasured(f"{program.name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done

    def json(self, *command, **how):
        text = self.run(*command, **how).stdout
        return json.loads(text[text.index("{"):])

    def record(self, run, *command, options=(), prefix=(), timeout=300):
        """Records a command; gives dprof's exit code and messages."""
        shutil.rmtree(run, ignore_errors=True)
        words = [*prefix, self.bin / "dprof", "record", "-o", run, *options, "--", *command]
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout)

    def several(self, count, measure):
        return [measure() for _ in range(2 if self.quick else count)]

    # The table

    def row(self, what, target, measure):
        try:
            result, verdict = measure()
        except NotMeasured as reason:
            result, verdict = str(reason), NOT_MEASURED
        self.rows.append((what, target, result, verdict))
        print(f"  {what}: {result}: {verdict}", file=sys.stderr, flush=True)

    def percentiles(self, what, target, limits, measure):
        """`measure` gives a dictionary of percentiles, `limits` their targets."""
        def judged():
            runs = self.several(5, measure)
            medians = {name: statistics.median(run[name] for run in runs) for name in limits}
            result = ", ".join(f"{name} {value:.0f} ns" for name, value in medians.items())
            return result, MET if all(medians[name] <= limit for name, limit in limits.items()) else NOT_MET
        self.row(what, target, judged)

    def difference(self, what, limit, unit, pairs, scale=1.0):
        """`pairs` gives (without, with) of the same round."""
        def judged():
            differences = [(b - a) * scale for a, b in pairs()]
            low, high = paired.interval(differences)
            result = f"{statistics.median(differences):.0f} {unit}, 95 % {low:.0f} … {high:.0f}"
            return result, verdict_of(low, high, limit)
        self.row(what, f"≤ {limit} {unit}", judged)

    def print(self):
        head = ("measure", "target", "result", "verdict")
        widths = [max(len(row[i]) for row in [head, *self.rows]) for i in range(4)]
        for row in (head, tuple("-" * width for width in widths), *self.rows):
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


def verdict_of(low, high, limit):
    if high <= limit:
        return MET
    return NOT_MET if low > limit else UNDECIDED


def hooks(bench):
    def ring_write():
        result = bench.json(bench.bin / "bench_ring_write", "--records", 200_000)
        clock = result["clock_ns"]  # each figure holds one more reading of the clock
        return {"p50": result["p50_ns"] - clock, "p99": result["p99_ns"] - clock}

    def nvtx():
        result = bench.json(bench.bin / "bench_hooks", "nvtx_range", "--library", bench.library)
        return {"p50": result["p50_ns"]}

    def nvtx_off():
        result = bench.json(bench.bin / "bench_hooks", "nvtx_off", "--library", bench.library)
        return {"p50": result["p50_ns"]}

    def nccl():
        result = bench.json(bench.bin / "bench_nccl_event", bench.library)
        return {"p50": result["collective_p50_ns"] - result["clock_ns"]}

    bench.percentiles("ring write", "p50 ≤ 60 ns, p99 ≤ 250 ns", {"p50": 60, "p99": 250}, ring_write)
    bench.percentiles("NVTX range (push and pop)", "p50 ≤ 60 ns", {"p50": 60}, nvtx)
    bench.percentiles("NVTX range while off", "p50 ≤ 12 ns", {"p50": 12}, nvtx_off)
    bench.percentiles("NCCL plugin event (start and stop)", "p50 ≤ 60 ns", {"p50": 60}, nccl)


def torch_hooks(bench):
    program = bench.bin / "bench_record_function"

    def recorded(*arguments):
        done = bench.record(bench.scratch / "torch", program, *arguments, options=("--detail", "full"))
        if done.returncode not in (0, 5) or "{" not in done.stdout:
            raise NotMeasured(f"recording failed with {done.returncode}: {done.stderr.strip()[-300:]}")
        return json.loads(done.stdout[done.stdout.index("{"):])["p50_ns"]

    def pairs(bare, *arguments):
        if not program.exists():
            raise NotMeasured("bench_record_function is not built (no LibTorch)")
        return [(bench.json(program, *bare, *arguments)["p50_ns"], recorded(*arguments))
                for _ in range(3 if bench.quick else 9)]

    def alloc_pairs():
        made = pairs((), "--alloc")
        with sqlite3.connect(f"file:{bench.scratch / 'torch/rank-00000.dprof'}?mode=ro", uri=True) as trace:
            if trace.execute("SELECT count(*) FROM memory_event").fetchone()[0] == 0:
                raise NotMeasured("allocations are not recorded in this build")
        return made

    bench.difference("RecordFunction pair, over an empty callback", 130, "ns", lambda: pairs(("--empty",)))
    bench.difference("allocation event (half of one and its free)", 200, "ns", alloc_pairs, 0.5)


def child_start(bench):
    """An unrelated program under the preload, with every variable that `dprof record` sets."""
    def pairs():
        if not bench.library.exists():
            raise NotMeasured("libdprof.so is not built")
        bare = {"PATH": "/usr/bin:/bin"}
        preloaded = dict(bare, LD_PRELOAD=str(bench.library), NVTX_INJECTION64_PATH=str(bench.library),
                         DPROF_SOCKET="/tmp/dprof-bench-none/s", DPROF_CLOCK="1 0 4194304 23", DPROF_DETAIL="standard")

        def start(environment):
            begin = time.perf_counter_ns()
            os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
            return time.perf_counter_ns() - begin

        for _ in range(20):  # both are in the page cache then
            start(bare), start(preloaded)
        return [(start(bare), start(preloaded)) for _ in range(300 if bench.quick else 1000)]
    bench.difference("start-up of /bin/true under the preload", 150, "us", pairs, 1e-3)


def trace_bytes(bench):
    try:
        measured = bench.json(bench.bin / "bench_recorder_rows", "--bytes")
    except NotMeasured as reason:
        measured = str(reason)

    for what, key, limit in (("SQLite, per host range", "host_range", 25), ("SQLite, per kernel", "kernel", 25),
                             ("SQLite, per collective of Gloo", "collective", 48),
                             ("SQLite, per collective of NCCL", "nccl_collective", 48)):
        def judged(key=key, limit=limit):
            if isinstance(measured, str):
                raise NotMeasured(measured)
            if measured[key] is None:
                raise NotMeasured("the recorder made no such row of the records")
            return f"{measured[key]:.1f} B", MET if measured[key] <= limit else NOT_MET
        bench.row(what, f"≤ {limit} B", judged)


def recorder_load(bench):
    """16 ranks, each 50,000 ranges (100,000 records) a second; the recorder on one core, they on the others."""
    ranks, per_second, seconds = 16, 50_000, 5 if bench.quick else 15

    def judged():
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise NotMeasured("one core only: the ranks need another than the recorder")
        if not bench.probe.exists():
            raise NotMeasured("nvtx_probe is not built")
        run = bench.scratch / "load"
        others = ",".join(map(str, cores[1:]))
        begin = time.monotonic()
        done = bench.record(run, "taskset", "-c", others, bench.probe, "--ranges", per_second * seconds, "--burst",
                            per_second // 1000, "--pause-us", 1000, options=("-n", ranks),
                            prefix=("taskset", "-c", cores[0]))
        wall = time.monotonic() - begin
        if done.returncode not in (0, 5):
            raise NotMeasured(f"recording ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        rows = lost = cpu_ns = 0
        for rank in range(ranks):
            with sqlite3.connect(f"file:{run}/rank-{rank:05}.dprof?mode=ro", uri=True) as trace:
                rows += trace.execute("SELECT count(*) FROM host_range").fetchone()[0]
                lost += trace.execute("SELECT ifnull(sum(count), 0) FROM loss").fetchone()[0]
                cpu_ns += int(trace.execute("SELECT value FROM meta WHERE key = 'recorder_cpu_ns'").fetchone()[0])
        produced = ranks * per_second * seconds
        result = (f"{rows / wall:,.0f} rows/s over {wall:.1f} s, recorder {100 * cpu_ns / 1e9 / wall:.0f} % of its core, "
                  f"{lost} lost (ranks on {len(cores) - 1} other core{'s' if len(cores) > 2 else ''})")
        if rows + lost != produced:
            return result + f"; {produced - rows - lost} UNACCOUNTED", NOT_MET
        # Ranks that do not reach their rate for want of cores do not test the recorder.
        if wall > 1.15 * seconds + 2:
            return result + "; the ranks did not reach their rate", UNDECIDED
        return result, MET if lost == 0 else NOT_MET
    bench.row("recorder, 16 ranks × 100,000 records/s", "no loss on one core", judged)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--python", help="a Python whose `import torch` works, for the step time of a training run")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.build = options.build.resolve()

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        hooks(bench)
        torch_hooks(bench)
        child_start(bench)
        trace_bytes(bench)
        recorder_load(bench)
    bench.print()
    if options.quick or not options.python:
        print("\nnot measured here: the step time of a training run (scripts/bench overhead)")
        return
    sys.stdout.flush()
    subprocess.run([sys.executable, str(pathlib.Path(__file__).with_name("overhead.py")), "--build", str(options.build),
                    "--python", options.python], check=True)


if __name__ == "__main__":
    main()

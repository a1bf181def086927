# SPDX-License-Identifier: Apache-2.0
"""The analysis' speed and memory against its targets, as one table.

  analyzer.py --build build/release [--quick] [--only WORD] [--hta-python PYTHON]

Each figure is the median of several processes, with the 95 % interval of that median. A verdict is "met" or "not met" where the
whole interval is on one side of the target, and "not decided" where the target lies within it; "not measured" says why. What is
compared with something else is a ratio of neighbours in one run. --quick makes everything small: it shows that the benchmark
works, and decides nothing.
"""
import argparse
import collections
import contextlib
import gzip
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
from collector import MET, NOT_MEASURED, NOT_MET, UNDECIDED, NotMeasured

MB = 1e6
LOAD_WITH_HTA = """
import logging, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
begin = time.perf_counter()
TraceAnalysis(trace_dir=sys.argv[1])
print(time.perf_counter() - begin)
"""
LOAD_WITH_JSON = """
import gzip, json, pathlib, sys, time
begin = time.perf_counter()
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json*")):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        json.load(file)
print(time.perf_counter() - begin)
"""


Usage = collections.namedtuple("Usage", "wall_s cpu_s peak_bytes")


class Bench:
    def __init__(self, options, scratch):
        self.build = options.build
        self.quick = options.quick
        self.only = options.only
        self.hta_python = options.hta_python
        self.scratch = scratch
        self.rows = []

    def size(self, full, quick):
        return quick if self.quick else full

    def run(self, *command, timeout=1200, **environment):
        program = pathlib.Path(command[0])
        if program.is_absolute() and not program.exists():
            raise NotMeasured(f"{program.name} is not built")
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                              env=dict(os.environ, **environment))
        if done.returncode != 0:
            raise NotMeasured(f"{program.name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def part(self, *arguments):
        return json.loads(self.run(self.build / "bin/bench_analyzer", *arguments))

    def dprof(self, *arguments):
        """Wall time, CPU time and peak memory of one dprof."""
        command = [str(self.build / "bin/dprof"), *map(str, arguments)]
        if not pathlib.Path(command[0]).exists():
            raise NotMeasured("dprof is not built")
        begin = time.perf_counter()
        with open(self.scratch / "stderr", "w+") as errors:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode not in (0, 1):
                errors.seek(0)
                raise NotMeasured(f"dprof ended with {child.returncode}: {errors.read().strip()[-300:]}")
        return Usage(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)

    def several(self, measure, count=5):
        return [measure() for _ in range(2 if self.quick else count)]

    # The table

    def wants(self, *names):
        return self.only is None or any(self.only in name for name in names)

    def row(self, what, target, judge):
        try:
            result, verdict = judge()
        except NotMeasured as reason:
            result, verdict = str(reason), NOT_MEASURED
        self.rows.append((what, target, result, verdict))
        print(f"  {what}: {result}: {verdict}", file=sys.stderr, flush=True)

    def judge(self, what, values, limit, unit, at_least=False, form="{:.1f}", remark=""):
        """One row from the figures of several processes."""
        def judged():
            got = values() if callable(values) else values
            low, high = paired.interval(got)
            result = f"{form.format(statistics.median(got))} {unit}, 95 % {form.format(low)} … {form.format(high)}"
            return result + (f" ({remark})" if remark else ""), verdict_of(low, high, limit, at_least)
        self.row(what, f"{'≥' if at_least else '≤'} {limit} {unit}", judged)

    def print(self):
        head = ("measure", "target", "result", "verdict")
        widths = [max(len(row[i]) for row in [head, *self.rows]) for i in range(4)]
        for row in (head, tuple("-" * width for width in widths), *self.rows):
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


def verdict_of(low, high, limit, at_least):
    if at_least:
        return MET if low >= limit else NOT_MET if high < limit else UNDECIDED
    return MET if high <= limit else NOT_MET if low > limit else UNDECIDED


def not_measured(bench, names, reason):
    for name, target in names:
        bench.row(name, target, lambda: (str(reason), NOT_MEASURED))


def large_trace(bench):
    """One rank, 10 M rows, about 300 MB."""
    names = [("events per second and core", "≥ 2.0 M/s"), ("peak memory of a report", "≤ 1.5 × file"),
             ("digest of 10 M events", "≤ 10 s"), ("memory of that digest", "≤ 1000 MB")]
    if not bench.wants(*(name for name, _ in names), "large"):
        return
    folder = bench.scratch / "large"
    folder.mkdir()
    trace = folder / "rank-00000.dprof"
    try:
        made = bench.part("make", trace, "--rows", bench.size(10_000_000, 300_000))
        reports = bench.several(lambda: bench.dprof("report", folder, "--no-cache", "--format", "json"))
        digests = bench.several(lambda: bench.part("digest", trace))
    except NotMeasured as reason:
        not_measured(bench, names, reason)
        return
    finally:
        shutil.rmtree(folder)
    remark = f"{made['rows'] / 1e6:.1f} M rows, {made['file_bytes'] / MB:.0f} MB"
    bench.judge(names[0][0], [made["rows"] / r.cpu_s / 1e6 for r in reports], 2.0, "M/s", at_least=True, form="{:.2f}",
                remark=remark)
    bench.judge(names[1][0], [r.peak_bytes / made["file_bytes"] for r in reports], 1.5, "× file", form="{:.2f}", remark=remark)
    bench.judge(names[2][0], [d["wall_s"] for d in digests], 10, "s", form="{:.2f}", remark=remark)
    bench.judge(names[3][0], [d["peak_bytes"] / MB for d in digests], 1000, "MB", form="{:.0f}", remark=remark)


def containment_join(ranges, kernels, depth=8, threads=4):
    """What other tools do in SQL: every range that contains a launch; seconds."""
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE range(thread INTEGER, begin INTEGER, end INTEGER)")
        base.execute("CREATE TABLE launch(id INTEGER PRIMARY KEY, thread INTEGER, at INTEGER)")
        columns = ranges // depth // threads
        base.executemany("INSERT INTO range VALUES(?, ?, ?)", (
            (thread, column * 10_000 + level * 100, column * 10_000 + 10_000 - level * 100)
            for thread in range(threads) for column in range(columns) for level in range(depth)))
        base.executemany("INSERT INTO launch VALUES(NULL, ?, ?)", (
            (number % threads, number // threads * columns // max(1, kernels // threads) * 10_000 + 5_000)
            for number in range(kernels)))
        base.execute("CREATE INDEX by_begin ON range(thread, begin)")
        begin = time.perf_counter()
        count = "SELECT count(*) FROM launch JOIN range USING (thread) WHERE begin <= at AND at < end"
        found = base.execute(count).fetchone()[0]
        seconds = time.perf_counter() - begin
        if found < kernels:
            raise NotMeasured(f"the join found {found} ranges for {kernels} launches")
        return seconds


def attribution(bench):
    name = "kernels to nested ranges"
    if not bench.wants(name):
        return
    ranges, kernels = bench.size((10_400_000, 1_080_000), (416_000, 43_200))
    small = bench.size((80_000, 8_000), (16_000, 1_600))
    try:
        runs = bench.several(lambda: bench.part("attribute", "--ranges", ranges, "--kernels", kernels))
        sql = bench.several(lambda: containment_join(*small), count=3)
        same = bench.several(lambda: bench.part("attribute", "--ranges", small[0], "--kernels", small[1]), count=3)
    except NotMeasured as reason:
        not_measured(bench, [(name, "≤ 10 s"), (name + ", memory", "≤ 2000 MB")], reason)
        return
    ratio, low, high = paired.ratio(sql, [run["wall_s"] for run in same])
    size = f"{ranges / 1e6:.1f} M × {kernels / 1e6:.2f} M"
    bench.judge(name, [run["wall_s"] for run in runs], 10, "s", form="{:.2f}", remark=size)
    bench.judge(name + ", memory", [run["peak_bytes"] / MB for run in runs], 2000, "MB", form="{:.0f}", remark=size)
    bench.row(f"SQL containment join, {small[0]:,} × {small[1]:,}", "beside it", lambda: (
        f"{statistics.median(sql):.2f} s: {ratio:.0f} × as long as we take, 95 % {low:.0f} … {high:.0f}", "shown"))


def hta_python(bench):
    """A Python that has HolisticTraceAnalysis, or None."""
    if bench.hta_python:
        return bench.hta_python
    home = pathlib.Path(os.environ.get("DPROF_CACHE", pathlib.Path.home() / ".cache/dprof")) / "hta"
    python = home / "bin/python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True, timeout=120)
        if subprocess.run([python, "-c", "import hta"], capture_output=True, timeout=120).returncode != 0:
            subprocess.run([python, "-m", "pip", "install", "-q", "HolisticTraceAnalysis", "pandas<2.2"], check=True,
                           capture_output=True, timeout=900)
        return python
    except (subprocess.SubprocessError, OSError):
        return None


def chosen_loader(bench, files):
    """HTA's, or where it cannot be installed or does not load the files, Python's own."""
    python = hta_python(bench)
    if python:
        try:
            bench.run(python, "-c", LOAD_WITH_HTA, files)
            return python, LOAD_WITH_HTA, "HTA's load"
        except NotMeasured as reason:
            print(f"  HTA does not load the files: {reason}", file=sys.stderr)
    return sys.executable, LOAD_WITH_JSON, "Python's gzip and json (no HTA)"


def kineto_import(bench):
    name = "Kineto import"
    if not bench.wants(name):
        return
    files, out = bench.scratch / "kineto", bench.scratch / "imported"
    try:
        bench.run(bench.build / "bin/dprof-synth", "-o", files, "--format", "kineto", "--shape", "gpu", "--ranks", 2, "--steps",
                  bench.size(100, 6), "--rows-per-step", 4000)
        for path in list(files.glob("*.json")):
            if "truth" in path.name or path.name == "run.json":
                path.unlink()
                continue
            with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb", compresslevel=6) as packed:
                shutil.copyfileobj(plain, packed)
            path.unlink()
        size = sum(path.stat().st_size for path in files.glob("*.json.gz"))
        if size == 0:
            raise NotMeasured("dprof-synth wrote no Kineto file")
        python, script, loader = chosen_loader(bench, files)

        def ours():
            shutil.rmtree(out, ignore_errors=True)
            return bench.dprof("import", files, "-o", out).wall_s

        def theirs():
            return float(bench.run(python, "-c", script, files).split()[-1])
        measures = {"ours": ours, "theirs": theirs}
        found = paired.rounds(2 if bench.quick else 9, list(measures), lambda which: measures[which]())
        ratios = [b / a for a, b in zip(found["ours"], found["theirs"])]
    except NotMeasured as reason:
        not_measured(bench, [(name, "≥ 25 × HTA's load")], reason)
        return
    finally:
        shutil.rmtree(files, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
    bench.judge(name, ratios, 25, f"× {loader}", at_least=True, remark=(
        f"2 files of {size / 2 / MB:.1f} MB packed, {statistics.median(found['ours']):.2f} s against "
        f"{statistics.median(found['theirs']):.2f} s"))


def export(bench):
    """The whole command, with digests kept: events of all ranks by its wall time."""
    formats = [("perfetto", 1.0), ("chrome", 0.5), ("csv", 0.5), ("speedscope", 0.5)]
    names = [f"export to {form}" for form, _ in formats]
    if not bench.wants(*names):
        return
    folder, out = bench.scratch / "run", bench.scratch / "exported"
    try:
        bench.run(bench.build / "bin/dprof-synth", "-o", folder, "--shape", "gpu", "--ranks", 2, "--steps", bench.size(150, 6),
                  "--rows-per-step", 4000)
        bench.dprof("report", folder)
        rows = 0
        for path in folder.glob("rank-*.dprof"):
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as trace:
                rows += sum(trace.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in
                            ("host_range", "gpu_activity", "collective", "memory_event", "memory_sample", "system_sample"))
        for (form, target), name in zip(formats, names):
            def once(form=form):
                shutil.rmtree(out, ignore_errors=True)
                out.unlink(missing_ok=True)
                packed = out.with_suffix(".gz") if form == "perfetto" else out
                usage = bench.dprof("export", folder, "--format", form, "-o", packed)
                return usage.wall_s, usage.peak_bytes
            found = bench.several(once)
            bench.judge(name, [rows / wall_s / 1e6 for wall_s, _ in found], target, "M rows/s", at_least=True, form="{:.2f}",
                        remark=f"{rows / 1e6:.2f} M rows, {statistics.median(peak for _, peak in found) / MB:.0f} MB of memory")
    except NotMeasured as reason:
        not_measured(bench, [(name, f"≥ {target} M rows/s") for (_, target), name in zip(formats, names)], reason)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)


def many_ranks(bench):
    ranks, steps = bench.size((1000, 100), (40, 20))
    name, replay = f"report of {ranks:,} ranks × {steps} steps", "replay, of the analysis of that report"
    questions = "what-if questions asked unasked, likewise"
    if not bench.wants(name, replay, questions):
        return
    run = bench.scratch / "many"
    try:
        said = bench.run(bench.build / "bin/dprof-synth", "-o", run, "--ranks", ranks, "--hosts", max(1, ranks // 8),
                         "--steps", steps, "--rows-per-step", 200, "--buckets", 20, "--no-probes")

        measured = bench.several(lambda: bench.dprof("report", run, "--no-cache", "--format", "json"), count=3)
        stages = bench.several(lambda: bench.part("stages", run), count=3)
    except NotMeasured as reason:
        not_measured(bench, [(name, "≤ 60 s"), (replay, "≤ 30 %"), (questions, "≤ 30 %")], reason)
        return
    finally:
        shutil.rmtree(run, ignore_errors=True)
    remark = ", ".join([*said.strip().split(": ", 1)[-1].split(", ")[1:2],
                        f"{statistics.median(r.peak_bytes for r in measured) / MB:.0f} MB of memory",
                        f"{len(os.sched_getaffinity(0))} cores"])
    bench.judge(name, [r.wall_s for r in measured], 60, "s", remark=remark)
    for what, part in ((replay, "replay_s"), (questions, "questions_s")):
        bench.judge(what, [100 * one[part] / one["wall_s"] for one in stages], 30, "%")


def what_if_answers(bench):
    """As the window's sliders ask: the slowest of some questions."""
    for ranks, limit in ((8, 100), (64, 1000)):
        steps = bench.size(100, 20)
        name = f"what-if answer, {ranks} ranks × {steps} steps"
        if not bench.wants(name):
            continue
        run = bench.scratch / "asked"
        try:
            bench.run(bench.build / "bin/dprof-synth", "-o", run, "--ranks", ranks, "--steps", steps, "--rows-per-step", 200,
                      "--buckets", 20, "--no-probes")
            answers = bench.several(lambda run=run: bench.part("stages", run)["answer_s"])
        except NotMeasured as reason:
            not_measured(bench, [(name, f"≤ {limit} ms")], reason)
            continue
        finally:
            shutil.rmtree(run, ignore_errors=True)
        bench.judge(name, [1000 * answer for answer in answers], limit, "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--quick", action="store_true", help="small sizes: does it work? Decides nothing")
    parser.add_argument("--only", help="only measures whose name holds this word")
    parser.add_argument("--hta-python", type=pathlib.Path, help="a Python that has HolisticTraceAnalysis")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="dprof-bench-") as scratch:
        bench = Bench(options, pathlib.Path(scratch))
        for part in (large_trace, attribution, kineto_import, export, many_ranks, what_if_answers):
            part(bench)
        bench.print()
        if options.quick:
            print("\nquick: small sizes, the verdicts say nothing of the targets")


if __name__ == "__main__":
    main()

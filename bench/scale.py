# SPDX-License-Identifier: Apache-2.0
"""What a report of many ranks costs: time, memory and disk by ranks and steps, with the exponents of their growth.

  scale.py --build build/release [--quick] [--sizes 256x10,1024x10] [--buckets 4] [--folder DIR]

Each run is a synthetic one with a throttled GPU, tensor-parallel groups of 8 ranks and four gradient buckets (each of three
calls per rank and step); `cold` reads the traces and keeps their digests, `again` reads the digests. One process each: figures
of a busy machine are not worth writing down. An exponent is that of neighbouring sizes of equal steps (of equal ranks): 1 =
twice the ranks cost twice as much.
--quick makes everything small: it shows that the benchmark works.
"""
import argparse
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

MB = 1e6
FULL = ((256, 10), (1024, 10), (4096, 10), (10000, 10), (1024, 40), (1024, 100))
QUICK = ((64, 12), (256, 12), (64, 24))
RANKS_PER_HOST = 8


def size_of(folder):
    """What its files take on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def timed(command, out):
    """Wall time, CPU time and peak memory of one process."""
    begin = time.perf_counter()
    with open(out, "wb") as file:
        child = subprocess.Popen([str(word) for word in command], stdout=file)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"scale: {command[0]} ended with {child.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def measure(options, scratch, ranks, steps):
    run, out = scratch / f"run-{ranks}-{steps}", scratch / "report.json"
    culprit = ranks // 2 + 5
    try:
        subprocess.run([options.build / "bin/dprof-synth", "-o", run, "--ranks", str(ranks), "--hosts",
                        str(max(1, ranks // RANKS_PER_HOST)), "--shape", "gpu", "--technique", "tensor-data", "--tensor-ranks",
                        "8", "--buckets", str(options.buckets), "--steps", str(steps), "--rows-per-step", "30", "--fault",
                        f"gpu-throttle:rank={culprit},factor=1.15"], check=True, stdout=subprocess.DEVNULL)
        traces = size_of(run)
        row = {"ranks": ranks, "steps": steps, "disk": traces}
        for name in ("cold", "again"):
            wall, cpu, peak = timed([options.build / "bin/dprof", "report", run, "--format", "json"], out)
            row.update({f"{name} s": wall, f"{name} CPU s": cpu, f"{name} memory": peak})
        row["digests"] = size_of(run / ".digest")
        report = json.loads(out.read_text())
        row["calls"] = sum(one["n"] for one in report["collectives"])
        row["named"] = [one["rank"] for one in report["stragglers"] or []] == [culprit]
        return row
    finally:
        shutil.rmtree(run, ignore_errors=True)


def exponent(rows, row, key):
    """Of the growth from the next smaller run of as many steps, or of as many ranks."""
    for same, grows in (("steps", "ranks"), ("ranks", "steps")):
        smaller = [one for one in rows if one[same] == row[same] and one[grows] < row[grows]]
        if smaller and min(row[key], smaller[-1][key]) > 0:
            before = max(smaller, key=lambda one: one[grows])
            return f"{math.log(row[key] / before[key]) / math.log(row[grows] / before[grows]):.2f}"
    return ""


def table(rows):
    head = ("ranks × steps", "traces", "digests", "cold", "CPU", "exp.", "memory", "exp.", "again", "CPU", "exp.", "memory",
            "exp.", "named")
    lines = [head, tuple("-" * len(cell) for cell in head)]
    for i, row in enumerate(rows):
        cells = [f"{row['ranks']:,} × {row['steps']:,}", f"{row['disk'] / MB:,.0f} MB", f"{row['digests'] / MB:,.0f} MB"]
        for name in ("cold", "again"):
            cells += [f"{row[f'{name} s']:.1f} s", f"{row[f'{name} CPU s']:.1f} s", exponent(rows[:i], row, f"{name} CPU s"),
                      f"{row[f'{name} memory'] / MB:,.0f} MB", exponent(rows[:i], row, f"{name} memory")]
        lines.append((*cells, "yes" if row["named"] else "NO"))
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]
    for line in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", help="RANKSxSTEPS, separated by commas")
    parser.add_argument("--buckets", type=int, default=4)
    parser.add_argument("--folder", type=pathlib.Path, help="where the runs are made, one after the other")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    if options.sizes:
        sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        for ranks, steps in sizes:
            rows.append(measure(options, pathlib.Path(scratch), ranks, steps))
            print(f"  {ranks:,} ranks × {steps:,} steps done", file=sys.stderr, flush=True)
    table(rows)
    return 0 if all(row["named"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

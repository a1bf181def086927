# SPDX-License-Identifier: Apache-2.0
"""How fast other tools' files come in and go out, beside what those tools need for the same files.

  interchange.py --build build/release [--quick] [--only WORD] [--rounds N] [--hta-python PYTHON]

Nsight's export of 1 M kernels, with their launches and NVTX ranges, becomes a run; Kineto's files do, beside HTA's load of
them; a run becomes a Perfetto trace, beside Perfetto's own decoding of that file (its Python schema, which parses it and looks
at no event), and Kineto JSON. PYTHON has HolisticTraceAnalysis, perfetto and protobuf; without it an environment of its own
gets them from PyPI. What cannot be installed is left out, and that is said. Ratios are those of neighbours in one run; figures
and verdicts are as in analyzer.py.
"""
import argparse
import contextlib
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import analyzer
import paired
from analyzer import MB, Bench, NotMeasured

PID, TID = 4711, 4711
PROCESS = 1 << 56 | PID << 24
THREAD = PROCESS | TID
# Launches every 5 us; kernels of 4 us, one after the other; a range around each two launches.
NSIGHT = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
CREATE TABLE ANALYSIS_DETAILS (duration INTEGER, startTime INTEGER, stopTime INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
  domainId INTEGER);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'), ('EXPORT_PRODUCT_VERSION', '2026.1.1'),
  ('EXPORT_SCHEMA_VERSION', '3.24.14');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426, '2026-05-24');
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000');
INSERT INTO StringIds WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
  SELECT 100 + i, 'void gemm_kernel_' || i || '<(int)128, (int)64>(float *, float const *, int)' FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :kernels - 1)
  SELECT 1000 + 5000 * i, 4000 + 5000 * i, 0, {THREAD}, i + 1, 1, 0 FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
  SELECT start + 9000, start + 13000, 0, 1, 7, correlationId, {PROCESS}, 100 + correlationId % 300, 100 + correlationId % 300,
  64, 128, 1, 1, 256, 1, 1, 0, 49152 FROM CUPTI_ACTIVITY_KIND_RUNTIME;
INSERT INTO NVTX_EVENTS SELECT start - 500, start + 8500, 59, 'layer ' || correlationId % 97, {THREAD}, NULL, 0
  FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId % 2 = 1;
"""
READ_WITH_SQL = """
import sqlite3, sys, time
begin = time.perf_counter()
file = sqlite3.connect(sys.argv[1])
for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"):
    for row in file.execute(f"SELECT * FROM {table}"):
        pass
print(time.perf_counter() - begin)
"""
DECODE_PERFETTO = """
import gzip, sys, time
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
begin = time.perf_counter()
trace = perfetto_trace_pb2.Trace()
trace.ParseFromString(gzip.open(sys.argv[1]).read())
print(time.perf_counter() - begin, len(trace.packet))
"""


def perfetto_python(bench):
    """A Python that has Perfetto's schema, or None."""
    python = analyzer.hta_python(bench)
    if python is None:
        return None
    schema = [python, "-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"]
    if subprocess.run(schema, capture_output=True).returncode == 0:
        return python
    if not bench.hta_python:
        subprocess.run([python, "-m", "pip", "install", "-q", "perfetto", "protobuf"], capture_output=True)
    return python if subprocess.run(schema, capture_output=True).returncode == 0 else None


def make_nsight(path, kernels):
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript(NSIGHT.replace(":kernels", str(kernels)))


def rounds(bench, variants):
    return paired.rounds(bench.rounds, list(variants), lambda which: variants[which]())


def beside(found, ours, theirs, what):
    """Theirs over ours, as a remark."""
    middle, low, high = paired.ratio(found[theirs], found[ours])
    return f"{what}: {statistics.median(found[theirs]):.2f} s, {middle:.2f} × as long (95 % {low:.2f} … {high:.2f})"


def cpu_of(used):
    """On a busy machine this differs less than the time does."""
    return f"{statistics.median(usage.cpu_s for usage in used):.2f} s of CPU time"


def nsight_import(bench):
    kernels = bench.size(1_000_000, 20_000)
    name = f"Nsight import, {kernels:,} kernels"
    if not bench.wants(name):
        return
    file, out = bench.scratch / "job.sqlite", bench.scratch / "imported"
    try:
        make_nsight(file, kernels)
        size, used = file.stat().st_size, []

        def ours():
            shutil.rmtree(out, ignore_errors=True)
            usage = bench.dprof("import", file, "-o", out)
            used.append(usage)
            return usage.wall_s

        def sql():
            return float(bench.run(sys.executable, "-c", READ_WITH_SQL, file))
        found = rounds(bench, {"ours": ours, "sql": sql})
        with contextlib.closing(sqlite3.connect(next(out.glob("rank-*.dprof")))) as trace:
            if trace.execute("SELECT count(*) FROM gpu_activity").fetchone()[0] != kernels:
                raise NotMeasured("not all kernels came in")
        bench.judge(name, found["ours"], 6, "s", form="{:.2f}", remark=(
            f"a file of {size / MB:.0f} MB, {cpu_of(used)}, "
            f"{statistics.median(usage.peak_bytes for usage in used) / MB:.0f} MB of memory; "
            + beside(found, "ours", "sql", "Python's sqlite3 reading those rows")))
    except NotMeasured as reason:
        analyzer.not_measured(bench, [(name, "≤ 6 s")], reason)
    finally:
        file.unlink(missing_ok=True)
        shutil.rmtree(out, ignore_errors=True)


def export(bench):
    names = {"perfetto": 1.0, "chrome": 0.5}
    if not bench.wants(*(f"export to {form}" for form in names)):
        return
    run = bench.scratch / "run"
    places = {"perfetto": bench.scratch / "out.perfetto.gz", "chrome": bench.scratch / "out.chrome"}
    try:
        bench.run(bench.build / "bin/dprof-synth", "-o", run, "--shape", "gpu", "--ranks", 2, "--steps", bench.size(150, 6),
                  "--rows-per-step", 4000)
        bench.dprof("report", run)  # digests are kept
        rows = 0
        for path in run.glob("rank-*.dprof"):
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as trace:
                rows += sum(trace.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in
                            ("host_range", "gpu_activity", "collective", "memory_event", "memory_sample", "system_sample"))

        used = {form: [] for form in names}

        def write(form):
            shutil.rmtree(places[form], ignore_errors=True)
            if places[form].is_file():
                places[form].unlink()
            usage = bench.dprof("export", run, "--format", form, "-o", places[form])
            used[form].append(usage)
            return usage.wall_s

        def decode():
            return float(bench.run(python, "-c", DECODE_PERFETTO, places["perfetto"]).split()[0])
        variants = {form: lambda form=form: write(form) for form in names}
        remarks, missing = dict.fromkeys(names, f"{rows / 1e6:.2f} M rows"), ""
        python = perfetto_python(bench)
        if python:
            write("perfetto")
            variants["decode"] = decode
        else:
            missing = "; Perfetto's Python schema is not installed"
        found = rounds(bench, variants)
        for form in names:
            remarks[form] += f", {cpu_of(used[form])}"
        remarks["perfetto"] += missing
        if "decode" in found:
            remarks["perfetto"] += "; " + beside(found, "perfetto", "decode", "Perfetto's decoding")
        for form, target in names.items():
            bench.judge(f"export to {form}", [rows / wall_s / 1e6 for wall_s in found[form]], target, "M rows/s", at_least=True,
                        form="{:.2f}", remark=remarks[form])
    except NotMeasured as reason:
        analyzer.not_measured(bench, [(f"export to {form}", f"≥ {target} M rows/s") for form, target in names.items()], reason)
    finally:
        for path in (run, places["chrome"]):
            shutil.rmtree(path, ignore_errors=True)
        places["perfetto"].unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--quick", action="store_true", help="small sizes: does it work? Decides nothing")
    parser.add_argument("--only", help="only measures whose name holds this word")
    parser.add_argument("--hta-python", type=pathlib.Path, help="a Python that has HolisticTraceAnalysis and perfetto")
    parser.add_argument("--rounds", type=int, help="of each comparison but Kineto's; default 7")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="dprof-bench-") as scratch:
        bench = Bench(options, pathlib.Path(scratch))
        bench.rounds = options.rounds or bench.size(7, 2)
        for part in (nsight_import, analyzer.kineto_import, export):
            part(bench)
        bench.print()
        if options.quick:
            print("\nquick: small sizes, the verdicts say nothing of the targets")


if __name__ == "__main__":
    main()

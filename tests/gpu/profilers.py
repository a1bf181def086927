# SPDX-License-Identifier: Apache-2.0
"""Other profilers in the same process, and their figures beside dprof's."""
import json
import shutil
import time

from part import ONE_RANK, Missing, Trace, last_json, wait_until


def torch_profiler(part):
    """dprof before torch.profiler, and in the ways that leave CUPTI to it."""
    profile = ("--steps", 40, "--profile", part.folder / "profile.json")
    alone = last_json(part.run(*part.python_job(*profile), **ONE_RANK))["kernels"]
    first = last_json(part.record_python(*profile, run="first"))["kernels"]
    ours = part.trace("first").kernels()
    off = last_json(part.record_python(*profile, run="off", options=("--cuda", "off")))["kernels"]
    window, window_ours = yielded(part)
    part.figure("rows of torch.profiler alone", alone)
    part.figure("the same while dprof has CUPTI (dprof's kernels)", f"{first} ({ours})")
    part.figure("with --cuda=off", off)
    part.figure("with --cuda=yield --armed, after a window that dprof recorded (dprof's kernels)", f"{window} ({window_ours})")
    part.expect("torch.profiler alone has rows of the GPU", (alone or 0) > 0, alone)
    part.expect("dprof keeps its kernels", ours > 100, ours)
    part.expect("with --cuda=off torch.profiler has its rows", off >= 0.95 * alone, f"{off} of {alone}")
    part.expect("dprof's window has kernels", window_ours > 100, window_ours)
    part.expect("--cuda=yield --armed gives torch.profiler its rows back", window >= 0.95 * alone, f"{window} of {alone}")
    return (f"rows of torch.profiler: {alone:,} alone, {first:,} while dprof has CUPTI, {off:,} with --cuda=off, "
            f"{window:,} with --cuda=yield after a window")


def yielded(part):
    """dprof records a window and gives CUPTI back; then torch.profiler is used for the first time."""
    go, log = part.folder / "go", part.folder / "steps.txt"
    process = part.start_record(*part.python_job("--steps", 40, "--profile", part.folder / "later.json", "--after", go, "--log",
                                                 log),
                                run="yield", options=("--cuda", "yield", "--armed"))
    wait_until(lambda: process.poll() is not None or (log.exists() and len(log.read_text().splitlines()) > 10),
               part.left() * 0.7,
               "the job's first steps")
    part.control("yield", "start")
    time.sleep(4)  # dprof looks for CUPTI once a second
    part.control("yield", "stop")
    time.sleep(2)
    go.touch()
    kernels = last_json(part.finish(process, want=(0, 5)))["kernels"]
    return kernels, part.trace("yield").kernels()


def gpu_figures(part, run):
    report = json.loads(part.run(part.dprof, "report", run, "--format", "json"))
    rows = report["gpu_rows"]["per_rank"] if report["gpu_rows"] else []
    return rows[0] if rows else {}


def profiler_import(part):
    """The same ten steps by torch.profiler, imported, and by dprof: as many kernels, and as much time in them?"""
    profile = part.folder / "profile.json"
    part.run(*part.python_job("--steps", 40, "--profile", profile), **ONE_RANK)
    part.run(part.dprof, "import", profile, "-o", part.folder / "imported", "--overwrite", want=(0, 5))
    part.record_python("--steps", 40, options=("--detail", "standard", "--steps", "20:30"))
    if part.mode == "cpu":
        return ""
    both = {"torch.profiler": part.trace("imported"), "dprof": part.trace()}
    counts, times = {}, {}
    for who, trace in both.items():
        counts[who], times[who] = trace.rows(
            "SELECT count(*), coalesce(sum(duration_ns), 0) FROM gpu_activity WHERE kind = 0")[0]
        part.figure(f"{who}: kernels; time in them", f"{counts[who]}; {times[who] / 1e6:.3f} ms")
        rows = gpu_figures(part, trace.path.parent)
        part.figure(f"{who}: report's GPU rows", ", ".join(
            f"{name[:-3]} {rows[name] / 1e6:.3f} ms" for name in ("busy_ns", "compute_ns", "memory_ns", "idle_ns") if name
            in rows))
    of_name = "SELECT value, count(*) FROM gpu_activity JOIN string ON string.id = name_id WHERE kind = 0 GROUP BY 1"
    names = {who: dict(trace.rows(of_name)) for who, trace in both.items()}
    differ = {name for name in set(names["dprof"]) | set(names["torch.profiler"])
              if names["dprof"].get(name, 0) != names["torch.profiler"].get(name, 0)}
    part.figure("kernel names whose counts differ",
                f"{len(differ)} of {len(set(names['dprof']) | set(names['torch.profiler']))}")
    if differ:
        part.figure("the first of them", sorted(differ)[0][:120])
    part.expect("as many kernels, within 2 %",
                abs(counts["dprof"] - counts["torch.profiler"]) <= 0.02 * counts["torch.profiler"], counts)
    part.expect("as much time in them, within 10 %",
                abs(times["dprof"] - times["torch.profiler"]) <= 0.1 * times["torch.profiler"],
                {who: f"{ns / 1e6:.3f} ms" for who, ns in times.items()})
    return "; ".join(f"{who} {counts[who]:,} kernels, {times[who] / 1e6:.2f} ms in them" for who in both)


def nsight(part):
    """dprof in a process that Nsight has: it must say so, and the job must go on."""
    said = []
    tools = {"ncu": ("ncu", "--target-processes", "all", "--launch-count", 5, "--metrics", "gpu__time_duration.sum"),
             "nsys": ("nsys", "profile", "--trace", "cuda", "--force-overwrite", "true", "-o", part.folder / "nsys")}
    tools = {name: words for name, words in tools.items() if shutil.which(name)}
    if not tools:
        raise Missing("neither ncu nor nsys is there")
    for name, words in tools.items():
        begin = time.monotonic()
        printed = part.run(*words, part.dprof, "record", "-n", 1, "--overwrite", "-o", part.folder / name, "--", part.probe,
                           "loop", "--seconds", 2, want=None)
        if name == "ncu":
            profiled = printed.count("==PROF== Profiling")
            part.expect("ncu profiles its kernels", profiled > 0, profiled)
        traces = sorted((part.folder / name).glob("*.dprof"))
        source = None
        if traces:
            source = Trace(traces[0]).meta.get("cuda_source")
        part.figure(f"{name}: meta.cuda_source of a job within it", source or "no trace")
        part.figure(f"{name}: total time", time.monotonic() - begin, "s")
        said.append(f"{name}: {source or 'no trace'}")
    return "; ".join(said)

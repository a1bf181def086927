# SPDX-License-Identifier: Apache-2.0
"""What is recorded of a job: kernels and their launches, times, dependencies, graphs, memory, samples of the GPU."""
import contextlib
import json
import sqlite3
import statistics
import time

from part import HERE, Broken, Missing, last_json

MOST_EARLY_NS = 50_000  # CUPTI interpolates the GPU's times
LEAST_JOINED = 0.95
THROTTLE = {0x1: "idle", 0x2: "clocks set by an application", 0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost",
            0x20: "software thermal", 0x40: "hardware thermal", 0x80: "power brake", 0x100: "display clocks"}


def doctor(part):
    """What dprof says of the machine before anything is recorded."""
    said = json.loads(part.run(part.dprof, "doctor", "--format", "json"))
    checks = {check["name"]: check for check in said["checks"]}
    for name in ("CUDA driver", "CUPTI", "NCCL", "NVML"):
        check = checks.get(name, {"state": "missing", "found": ""})
        part.figure(name, f"{check['state']}: {check['found']}")
        part.expect(f"{name} is there", check["state"] in ("ok", "limited"), f"{check['state']}: {check['found']}")
    cannot = [one for one in said["recordable"] if not one["can"]]
    for one in cannot:
        part.figure(f"cannot record {one['what']}", one["why_not"])
    return "everything can be recorded" if not cannot else f"cannot record: {', '.join(one['what'] for one in cannot)}"


def check_kernels(part, trace, who, least=100):
    """Kernels are there, joined to what launched them, and nothing was lost."""
    count, joined = trace.kernels(), trace.joined()
    share = joined / max(1, count)
    part.expect(f"{who}: meta.cuda_source is on", trace.meta.get("cuda_source") == "on", trace.meta.get("cuda_source"))
    part.expect(f"{who}: at least {least} kernels", count >= least, count)
    part.expect(f"{who}: at least {LEAST_JOINED:.0%} of the kernels are joined to their launch", share >= LEAST_JOINED,
                f"{share:.2%}")
    part.expect(f"{who}: nothing was lost", not trace.losses(), trace.losses())
    part.figure(f"{who}: kernels joined to a launch", 100 * share, "%", n=count)
    untimed = trace.value("SELECT count(*) FROM gpu_activity WHERE duration_ns IS NULL")
    part.expect(f"{who}: every GPU row has times", untimed == 0, f"{untimed} without")
    overlaps = trace.value(
        "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + duration_ns) OVER (PARTITION BY device_id, stream_id "
        "ORDER BY start_ns) AS before FROM gpu_activity WHERE kind = 0) WHERE start_ns < before")
    part.figure(f"{who}: kernels that begin before the previous one on their stream has ended", overlaps)
    return f"{count:,} kernels, {share:.1%} joined to their launch"


def native(part):
    """A recorded run of the C++ trainer, at full detail, for several parts."""
    return part.shared("native", lambda part: part.record_kernels(options=("--detail", "full")))


def kernels(part):
    trace = native(part)
    for key in ("cupti_version", "cuda_driver"):
        part.figure(key, trace.meta.get(key))
    return check_kernels(part, trace, "C++")


def python_run(part):
    return part.shared("python", lambda part: part.record_python(*part.steps(60), options=("--detail", "full")))


def python(part):
    trace = python_run(part)
    said = check_kernels(part, trace, "Python")
    for source in ("torch_source", "nccl_source", "nvtx_source"):
        part.figure(source, trace.meta.get(source))
    for source in ("torch_source", "nccl_source"):
        part.expect(f"meta.{source} is on", trace.meta.get(source) == "on", trace.meta.get(source))
    part.figure("NCCL", trace.meta.get("nccl_version"))
    operators = trace.calls("aten::*")
    part.expect("operators of PyTorch", operators > 100, operators)
    steps = trace.value("SELECT count(*) FROM step")
    part.expect("steps", steps >= 50, steps)
    collectives, ran = trace.rows("SELECT count(*), count(start_ns) FROM collective")[0]
    part.expect("DDP's all-reduces, one a step", collectives >= 50, collectives)
    part.figure("collectives; of these with the times of their kernel (NCCL reports nothing to a plugin if there is one rank)",
                f"{collectives}; {ran}")
    report = json.loads(part.run(part.dprof, "report", part.shared_folder / "python/run", "--format", "json"))
    for rank in report["breakdown"]["per_rank"] if report["breakdown"] else []:
        total = sum(rank["category_ns"].values())
        part.expect("the report's categories add up to the wall time", total == rank["wall_ns"],
                    f"{total} of {rank['wall_ns']} ns")
        shares = {name: ns / rank["wall_ns"] for name, ns in rank["category_ns"].items() if ns > 0.005 * rank["wall_ns"]}
        part.figure("where a step goes", ", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
    part.expect("the report has a breakdown", report["breakdown"] is not None, report["recording"]["diagnostics"])
    return said


def clock(part):
    """Kernel and launch are on one axis: no kernel begins before it is launched, none ends after somebody waited for it."""
    trace = native(part)
    delays = sorted(row[0] for row in trace.rows(
        "SELECT g.start_ns - h.start_ns FROM gpu_activity g JOIN (SELECT correlation, min(start_ns) AS start_ns "
        "FROM host_range WHERE correlation IS NOT NULL GROUP BY correlation) h ON h.correlation = g.correlation "
        "WHERE g.kind = 0"))
    if not delays:
        raise Broken("no kernel is joined to its launch")
    early = sum(delay < 0 for delay in delays)
    part.figure("kernels that begin before their launch", early, n=len(delays))
    part.figure("the earliest, after its launch", delays[0] / 1e3, "us")
    part.figure("median from launch to start", statistics.median(delays) / 1e3, "us")
    part.expect(f"no kernel more than {MOST_EARLY_NS // 1000} us before its launch", delays[0] >= -MOST_EARLY_NS,
                f"{delays[0]} ns")
    late = after_waiting(trace)
    if late:
        part.figure("the latest end of a kernel after a wait for the whole device", max(late) / 1e3, "us", n=len(late))
        part.expect(f"no kernel ends more than {MOST_EARLY_NS // 1000} us after such a wait", max(late) <= MOST_EARLY_NS,
                    f"{max(late)} ns")
    part.figure("times are", "interpolated by CUPTI onto dprof's clock" if trace.meta.get("clock_source") == "tsc"
                else "on the monotonic clock")
    return f"of {len(delays):,} kernels {early} before their launch, the earliest {delays[0] / 1e3:+.1f} us after it"


def after_waiting(trace):
    """For each wait for the whole device: how long after its end the last kernel ended that was launched before it; ns."""
    waits = trace.rows("SELECT start_ns, start_ns + duration_ns FROM host_range JOIN string ON string.id = name_id "
                       "WHERE value GLOB 'cu*DeviceSynchronize*' AND duration_ns IS NOT NULL "
                       "UNION SELECT start_ns, start_ns + duration_ns FROM gpu_activity JOIN string ON string.id = name_id "
                       "WHERE kind = 5 AND value GLOB '*context*' AND duration_ns IS NOT NULL ORDER BY 1")
    ends = trace.rows("SELECT h.start_ns, max(g.start_ns + g.duration_ns) FROM gpu_activity g JOIN host_range h "
                      "ON h.correlation = g.correlation WHERE g.kind = 0 GROUP BY g.id ORDER BY 1")
    late, at, last = [], 0, None
    for begin, end in waits:
        while at < len(ends) and ends[at][0] < begin:
            last = max(last or 0, ends[at][1])
            at += 1
        if last is not None:
            late.append(last - end)
    return late


def dependencies(part):
    trace = native(part)
    edges, streams, shapes = (trace.value(f"SELECT count(*) FROM {what}") for what in (
        "gpu_dependency", "gpu_dependency WHERE record_stream_id IS NOT NULL AND wait_stream_id IS NOT NULL", "kernel_shape"))
    part.expect("waits of a stream or of the host for an event", edges > 0, edges)
    part.expect("a shape for each kernel", shapes >= trace.kernels() > 0, f"{shapes} for {trace.kernels()}")
    part.figure("waits for events; of these both streams are known", f"{edges}; {streams}")
    return f"{edges:,} waits for events, {streams:,} with both streams; {shapes:,} shapes of kernels"


def off(part):
    part.record_kernels(options=("--cuda", "off"))
    if part.mode == "fake":  # without torch, NVTX and CUDA there is nothing to be recorded
        traces = list((part.folder / "run").glob("*.dprof"))
        part.expect("no trace", not traces, traces)
        return "no trace"
    trace = part.trace()
    part.expect("meta.cuda_source says so", trace.meta.get("cuda_source") == "off: --cuda=off", trace.meta.get("cuda_source"))
    rows = trace.value("SELECT count(*) FROM gpu_activity")
    part.expect("no GPU rows", rows == 0, rows)
    return f"{rows} GPU rows"


def graphs(part):
    if part.mode == "fake":
        said = last_json(part.record_kernels(options=("--detail", "standard")))
        replays = said["graphs"]
    else:
        replays = last_json(part.record_python("--steps", 200, "--graph", options=("--detail", "standard")))["replays"]
    trace = part.trace()
    rows, joined = trace.rows("SELECT count(*), coalesce(sum(correlation IN (SELECT correlation FROM host_range)), 0) "
                              "FROM gpu_activity WHERE kind = 6")[0]
    part.expect("one row for each replay", rows == replays, f"{rows} for {replays}")
    part.expect("each is joined to its launch", joined == rows, f"{joined} of {rows}")
    inside = trace.value("SELECT count(*) FROM gpu_activity WHERE kind = 0 AND graph IS NOT NULL")
    part.expect("kernels within a graph have no row of their own", inside == 0, inside)
    part.figure("rows of whole graphs", rows, n=replays)
    return f"{rows:,} rows for {replays:,} replays, {joined:,} joined to their launch"


def allocator(part):
    device = () if part.on_gpu else ("--device", "cpu")
    job = (part.python, HERE / "allocate.py", *device)
    bare = last_json(part.run(*job))
    said = last_json(part.record(*job, options=("--detail", "full")))
    trace = part.trace()
    part.figure("what is recorded of memory", trace.meta.get("memory_source"))
    part.figure("a tensor of 1 MiB made and freed, not recorded", statistics.median(bare["pair_ns"]), "ns",
                n=len(bare["pair_ns"]))
    part.figure("the same, recorded at full detail", statistics.median(said["pair_ns"]), "ns", n=len(said["pair_ns"]))
    if not part.on_gpu:
        return ""
    counts = dict(trace.rows("SELECT kind, count(*) FROM memory_event_text WHERE device_id >= 0 GROUP BY kind"))
    peak = trace.value("SELECT max(peak_allocated_bytes) FROM memory_sample WHERE device_id >= 0")
    part.expect("99 % of the allocations", counts.get("alloc", 0) >= 0.99 * said["allocations"],
                f"{counts} of {said['allocations']}")
    part.expect("each failed allocation", counts.get("oom", 0) == said["ooms"] > 0, f"{counts.get('oom', 0)} of {said['ooms']}")
    part.expect("memory returned to the device", counts.get("segment_free", 0) > 0, counts)
    part.expect("PyTorch's own peak", peak == said["peak_bytes"], f"{peak} of {said['peak_bytes']} bytes")
    part.figure("events by kind", ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))
    live = highest = 0
    for kind, size in trace.rows("SELECT kind, bytes FROM memory_event WHERE device_id >= 0 AND kind IN (0, 1) ORDER BY id"):
        live += size if kind == 0 else -size
        highest = max(highest, live)
    part.figure("peak by the sum of the events; by PyTorch", f"{highest / 2**20:.1f} MiB; {said['peak_bytes'] / 2**20:.1f} MiB")
    return f"{counts.get('alloc', 0):,} of {said['allocations']:,} allocations, peak {(peak or 0) / 2**20:.0f} MiB as PyTorch's"


def nvml(part):
    """The recorder's samples while the GPU takes all the power that it can. Nothing is set, only read."""
    if part.mode == "fake":
        part.record_kernels(seconds=8, options=("--detail", "light"))
    else:
        part.record_python("--gemm", "--seconds", 12 if part.on_gpu else 2, options=("--detail", "light"))
    trace = part.trace()
    samples = {}
    for kind, value in trace.rows("SELECT kind, value FROM system_sample_text WHERE kind GLOB 'gpu.*' AND subject = 0"):
        samples.setdefault(kind, []).append(value)
    for kind in ("gpu.sm_clock_mhz", "gpu.power_mw", "gpu.temperature_c", "gpu.busy_percent", "gpu.throttle_reasons_mask"):
        found = samples.get(kind, [])
        part.expect(f"samples of {kind}", len(found) >= 3, len(found))
        if found and not kind.endswith("mask"):
            part.figure(kind, f"{min(found)} to {max(found)}", n=len(found))
    limits = sorted(set(samples.get("gpu.power_limit_mw", [])))
    part.figure("power limit", ", ".join(f"{limit / 1000:.0f} W" for limit in limits) or None)
    part.expect("the power limit stays as it is", len(limits) <= 1, limits)
    masks = samples.get("gpu.throttle_reasons_mask", [])
    seen = {name: sum(bool(mask & bit) for mask in masks) for bit, name in THROTTLE.items()}
    said = ", ".join(f"{name} in {count} of {len(masks)} samples" for name, count in seen.items() if count) or "none seen"
    part.figure("reasons for lower clocks", said)
    return f"{len(samples)} kinds of samples; reasons for lower clocks: {said}"


def clients(part):
    trace = native(part)
    version = trace.meta.get("cupti_version", "")
    part.figure("CUPTI; driver", f"{version}; CUDA {trace.meta.get('cuda_driver')}")
    number = int("".join(character for character in version.split(",")[0] if character.isdigit()) or 0)
    if number < 130300:
        raise Missing(f"{version or 'CUPTI'}: several clients came with 13.3 (API 130300) and driver r610")
    part.expect("dprof is one of several clients", version.endswith("v2"), version)
    return version


def rehearse_clients(part):
    """A made-up CUPTI 13.3."""
    part.record_kernels(options=("--detail", "full"), DPROF_CUPTI_LIBRARY=str(part.bundle / "test_bin/libfake_cupti_v2.so"))
    trace = part.trace()
    part.expect("dprof is one of several clients", trace.meta.get("cupti_version", "").endswith("v2"),
                trace.meta.get("cupti_version"))
    return check_kernels(part, trace, trace.meta.get("cupti_version"))


def flush(part):
    """What CUPTI's flush each second costs, how long rows take into the trace, and whether launches are held up."""
    process = part.start_record(part.probe, "loop", "--seconds", 12 if part.on_gpu else 5, "--log", part.folder / "bursts.txt",
                                options=("--detail", "standard"))
    ages = []
    while process.poll() is None and part.left() > 1:
        time.sleep(0.2)
        if (age := newest_row_age(part.folder / "run")) is not None:
            ages.append(age)
    part.finish(process, want=(0, 5))
    trace = part.trace()
    count, total, longest = (trace.meta.get(key) for key in ("gpu_flushes", "gpu_flush_ns", "gpu_flush_longest_ns"))
    part.expect("buffers were flushed each second", int(count or 0) >= (8 if part.on_gpu else 3), count)
    if count:
        part.figure("a flush, on the helper's thread, mean", int(total) / int(count) / 1e6, "ms", n=int(count))
        part.figure("the longest flush", int(longest) / 1e6, "ms")
    if ages:
        part.figure("age of the newest GPU row in the trace, median", statistics.median(ages), "s", n=len(ages))
    bare = part.folder / "bare.txt"
    part.run(part.probe, "loop", "--seconds", 4, "--log", bare)
    stalls = {name: sorted(int(line.split()[2]) / 1e3 for line in file.read_text().splitlines())
              for name, file in (("recorded", part.folder / "bursts.txt"), ("not recorded", bare))}
    for name, found in stalls.items():
        if found:
            part.figure(f"the longest of 200 launches, {name}: median; 99 of 100; all",
                        f"{statistics.median(found):.1f} us; {found[int(0.99 * (len(found) - 1))]:.1f} us; {found[-1]:.1f} us",
                        n=len(found))
    if not count:
        raise Broken("the trace does not show what a flush costs")
    return (f"{int(total) / int(count) / 1e6:.2f} ms a flush (the longest {int(longest) / 1e6:.2f} ms), "
            f"rows are {statistics.median(ages or [0]):.1f} s old")


def newest_row_age(run):
    """Seconds since the newest GPU row that can be read while it is recorded; None where there is none."""
    for file in run.glob("*.dprof"):
        try:
            # Closed again: a trace that somebody reads when the job ends keeps its working name.
            with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=0.2)) as live:
                last = live.execute("SELECT max(start_ns + duration_ns) FROM gpu_activity").fetchone()[0]
                origin = live.execute("SELECT value FROM meta WHERE key = 'origin_monotonic_raw_ns'").fetchone()
        except sqlite3.Error:
            return None
        if last is not None and origin:
            return (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - int(origin[0]) - last) / 1e9
    return None

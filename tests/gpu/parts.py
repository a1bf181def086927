# SPDX-License-Identifier: Apache-2.0
"""The parts of the GPU check in the order of their value: what each asks, how long it may take, and how it is answered."""
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import statistics
import time

from part import interval, last_json, trainer_step_ms

OF_NCCL = "FROM collective JOIN communicator ON communicator.id = communicator_id WHERE backend = 2"


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    asks: str
    limit_s: int
    answer: object  # Part → str: the answer in a few words
    rehearse: object = None
    keep: tuple = ()  # traces that may become fixtures: (run, rank)


def kernels(part):
    """C++: the driver's injection, CUPTI's subscription, kernels and the calls that launched them."""
    part.record_trainer(*part.steps(60), options=("--detail", "full"))
    trace = part.trace()
    part.expect("meta.cuda_source is on", trace.meta.get("cuda_source") == "on", trace.meta.get("cuda_source"))
    part.figure("CUPTI", trace.meta.get("cupti_version"))
    return check_kernels(part, trace)


def check_kernels(part, trace):
    count, joined = trace.kernels(), trace.joined_share()
    part.expect("more than 100 kernels", count > 100, count)
    part.expect("95 % of the kernels joined to their launch", joined > 0.95, f"{joined:.1%}")
    part.expect("nothing lost", not trace.losses(), trace.losses())
    part.figure("kernels", count)
    part.figure("joined to a launch", 100 * joined, "%")
    overlapping = trace.value(
        "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + duration_ns) OVER (PARTITION BY device_id, stream_id ORDER BY start_ns) "
        "AS before FROM gpu_activity WHERE kind = 0 AND duration_ns IS NOT NULL) WHERE start_ns < before")
    part.figure("kernels that begin before the one ahead of them on their stream ended", overlapping)
    return f"{count} kernels, {joined:.1%} joined to a launch"


def record_fake(part, library):
    """The same way of the data, on the fake CUPTI: made-up activities of one kind each. It says that some were dropped: code 5."""
    part.record("sh", "-c", f"yes go | {part.bundle}/test_bin/cuda_probe everything", run=library, ranks=None, want=5,
                options=("--detail", "full"), DPROF_CUPTI_LIBRARY=str(part.bundle / "test_bin" / library), LD_LIBRARY_PATH=str(part.bundle / "lib"), RANK="0",
                WORLD_SIZE="1")
    return part.trace(library)


def rehearse_kernels(part):
    found = []
    for library in ("libfake_cupti.so", "libfake_cupti_v2.so"):
        trace = record_fake(part, library)
        part.expect(f"{library}: meta.cuda_source is on", trace.meta.get("cuda_source") == "on", trace.meta.get("cuda_source"))
        part.expect(f"{library}: kernels", trace.kernels() > 0, trace.kernels())
        part.expect(f"{library}: dependencies", trace.value("SELECT count(*) FROM gpu_dependency") > 0, "none")
        found.append(str(trace.kernels()))
    return f"{' and '.join(found)} kernels of two made-up versions of CUPTI"


def python(part):
    part.record_python(*part.steps(60), options=("--detail", "full"))
    trace = part.trace()
    ops = trace.value("SELECT count(*) FROM host_range JOIN string ON string.id = name_id WHERE value LIKE 'aten::%'")
    part.expect("operators of PyTorch", ops > 100, ops)
    part.expect("meta.nccl_source is on", trace.meta.get("nccl_source") == "on", trace.meta.get("nccl_source"))
    part.figure("operators", ops)
    part.figure("NCCL", trace.meta.get("nccl_version"))
    return check_kernels(part, trace)


def clock(part):
    """Kernel and launch are on one axis: what is a kernel's earliest start after its launch was called?"""
    part.record_trainer(*part.steps(60), options=("--detail", "standard"))
    delays = [row[0] for row in part.trace().rows(
        "SELECT g.start_ns - h.start_ns FROM gpu_activity g JOIN host_range h ON h.correlation = g.correlation WHERE g.kind = 0")]
    part.expect("kernels joined to their launch", delays, "none")
    if not delays:
        return "no kernel is joined to its launch"
    delays.sort()
    early = sum(delay < 0 for delay in delays)
    part.expect("no kernel more than 50 us before its launch", delays[0] >= -50_000, f"{delays[0]} ns")
    part.figure("kernels before their launch", early, n=len(delays))
    part.figure("earliest", delays[0] / 1e3, "us")
    part.figure("median from launch to start", statistics.median(delays) / 1e3, "us")
    waits = [row[0] for row in part.trace().rows(
        "SELECT h.start_ns + h.duration_ns - max(g.start_ns + g.duration_ns) FROM host_range h JOIN string s ON s.id = h.name_id "
        "JOIN gpu_activity g ON g.start_ns BETWEEN h.start_ns - 1000000 AND h.start_ns + h.duration_ns AND g.kind = 0 "
        "WHERE s.value IN ('cudaDeviceSynchronize', 'cudaStreamSynchronize') GROUP BY h.id")]
    if waits:
        part.figure("synchronisations that return before a kernel ended", sum(wait < -50_000 for wait in waits), n=len(waits))
    return f"earliest start {delays[0] / 1e3:.1f} us after its launch, {early} of {len(delays)} before it"


def cost(part):
    """Rounds of all variants in turn; each round gives one ratio against the bare run of the same round."""
    modes = {"light": ("--detail", "light"), "standard": ("--detail", "standard"), "full": ("--detail", "full"),
             "without CUDA": ("--cuda", "off")}
    job = (part.trainer, "--backend", part.backend, "--model", "convnet", "--batch", 512 if part.on_gpu else 16, *part.steps(300))

    def bare():
        return trainer_step_ms(part.run(*job, program="trainer"))

    def recorded(options):
        return trainer_step_ms(part.record(*job, program="trainer", options=options))

    def profiled(profiler):
        extra = ("--profile", part.folder / "profile.json") if profiler else ()
        steps = last_json(part.run(*part.training("--steps", 40, *extra)))["step_ms"]
        return statistics.median(steps[10:19])  # the profiler's steps are 20 to 30, less the ten of the warm-up

    variants = {"bare": bare, **{mode: lambda options=options: recorded(options) for mode, options in modes.items()},
                "Python, bare": lambda: profiled(False), "torch.profiler": lambda: profiled(True)}
    if nsys := shutil.which("nsys"):
        variants["nsys"] = lambda: trainer_step_ms(part.run(nsys, "profile", "-o", part.folder / "nsys", "--force-overwrite", "true",
                                                            *job, program="trainer", want=None))
    times = {name: [] for name in variants}
    end = time.monotonic() + part.seconds * 0.9
    longest, rounds = 0, 0
    while rounds < 20 and (rounds < (3 if part.on_gpu else 1) or time.monotonic() + longest < end):
        begin = time.monotonic()
        names = list(variants)
        for name in names[rounds % len(names):] + names[:rounds % len(names)]:
            times[name].append(variants[name]())
        rounds += 1
        longest = max(longest, time.monotonic() - begin)
    part.figure("a step, bare", statistics.median(times["bare"]), "ms", n=rounds)
    said = []
    for name in variants:
        base = {"bare": None, "Python, bare": None, "torch.profiler": "Python, bare"}.get(name, "bare")
        if base is None:
            continue
        slower = [100 * (a / b - 1) for a, b in zip(times[name], times[base])]
        low, high = interval(slower)
        part.figure(f"slow-down, {name}", statistics.median(slower), "%", low, high, rounds)
        said.append(f"{name} {statistics.median(slower):+.1f} % ({low:+.1f} to {high:+.1f})")
    return ", ".join(said)


def torch_profiler(part):
    """dprof has CUPTI first; then dprof waits for its turn (--cuda=yield --armed)."""
    profile = part.folder / "profile.json"
    alone = last_json(part.run(*part.training("--steps", 40, "--profile", profile)))["kernels"]
    beside = last_json(part.record_python("--steps", "40", "--profile", profile, run="first"))["kernels"]
    ours = part.trace("first").kernels()
    yielded = last_json(part.record_python("--steps", "40", "--profile", profile, run="yield",
                                           options=("--cuda", "yield", "--armed")))["kernels"]
    part.figure("GPU rows of torch.profiler alone", alone)
    part.figure("the same while dprof has CUPTI", beside)
    part.figure("kernels of dprof then", ours)
    part.figure("GPU rows of torch.profiler with --cuda=yield --armed", yielded)
    part.expect("torch.profiler alone has GPU rows", alone > 0, alone)
    part.expect("dprof keeps its kernels", ours > 0, ours)
    part.expect("--cuda=yield --armed leaves torch.profiler its rows", yielded >= 0.9 * alone, f"{yielded} of {alone}")
    return f"{beside} of {alone} rows beside dprof, {yielded} of {alone} with --cuda=yield --armed"


def killed(part):
    """kill -9 and Ctrl-C after some seconds of training, os._exit in the middle: what is still in the trace?"""
    said = []
    for how in ("kill -9", "Ctrl-C", "os._exit"):
        run = how.strip("-9").replace(" ", "").replace("-", "").replace(".", "").lower()
        if how == "os._exit":
            part.record_python("--steps", "200", "--end", "os_exit", run=run, want=3)
        else:
            recorder = part.start(part.dprof, "record", "-n", 1, "--overwrite", "-o", part.folder / run, "--",
                                  *part.training("--end", "never"))
            time.sleep(15 if part.on_gpu else 8)  # seconds of training behind torch's import
            for pid in children(recorder.pid):
                os.kill(pid, signal.SIGKILL if how == "kill -9" else signal.SIGINT)
            output, _ = recorder.communicate(timeout=60)
            part.note((how,), recorder.returncode, output)
        trace = part.trace(run)
        gpu = trace.value("SELECT max(start_ns) FROM gpu_activity WHERE kind = 0")
        host = trace.value("SELECT max(start_ns) FROM host_range")
        part.expect(f"{how}: kernels are kept", trace.kernels() > 100, trace.kernels())
        missing = (host - gpu) / 1e9 if gpu is not None and host is not None else None
        part.expect(f"{how}: at most 5 s of GPU rows are missing", missing is not None and missing < 5, missing)
        part.figure(f"{how}: GPU rows missing at the end", missing, "s")
        said.append(f"{how}: {missing:.2f} s missing" if missing is not None else f"{how}: no GPU rows")
    return "; ".join(said)


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def allocator(part):
    output = last_json(part.record_python(*part.steps(60), options=("--detail", "full")))
    trace = part.trace()
    events = trace.value("SELECT count(*) FROM memory_event WHERE device_id IS NOT NULL AND device_id >= 0")
    peak = trace.value("SELECT max(allocated_bytes) FROM memory_event")
    part.expect("allocations on the GPU", events > 100, events)
    part.figure("allocator's events", events)
    part.figure("peak by the trace", (peak or 0) / 2**20, "MiB")
    part.figure("peak by PyTorch", output["peak_bytes"] / 2**20, "MiB")
    part.expect("the peak is PyTorch's", peak is not None and abs(peak - output["peak_bytes"]) <= 0.01 * output["peak_bytes"],
                f"{peak} and {output['peak_bytes']} bytes")
    return f"{events} events, peak {(peak or 0) / 2**20:.1f} MiB, PyTorch's {output['peak_bytes'] / 2**20:.1f} MiB"


def graphs(part):
    replays = last_json(part.record_python("--steps", "100", "--graph", options=("--detail", "full")))["replays"]
    trace = part.trace()
    by_kind = dict(trace.rows("SELECT kind, count(*) FROM gpu_activity_text GROUP BY kind"))
    launches = trace.value("SELECT count(*) FROM host_range JOIN string ON string.id = name_id "
                           "WHERE value LIKE 'cudaGraphLaunch%' OR value LIKE 'cuGraphLaunch%'")
    graph_rows = trace.value("SELECT count(*) FROM gpu_activity JOIN string ON string.id = name_id WHERE value = 'CUDA graph'")
    part.figure("replays", replays)
    part.figure("launches of graphs recorded", launches)
    part.figure("rows of whole graphs", graph_rows)
    part.figure("rows by kind", json.dumps({str(kind): count for kind, count in by_kind.items()}))
    part.expect("one row for each replay", graph_rows >= replays, f"{graph_rows} for {replays}")
    return f"{graph_rows} rows for {replays} replays"


def dependencies(part):
    part.record_trainer(*part.steps(60), options=("--detail", "full"))
    trace = part.trace()
    edges = trace.value("SELECT count(*) FROM gpu_dependency")
    shapes = trace.value("SELECT count(*) FROM kernel_shape")
    part.expect("event dependencies", edges > 0, edges)
    part.expect("shapes of kernels", shapes > 100, shapes)
    part.figure("dependencies", edges)
    part.figure("shapes", shapes)
    return f"{edges} dependencies, {shapes} shapes of kernels"


def two_ranks(part):
    """Two ranks on one GPU pass NCCL's check for duplicates where each has a host id of its own."""
    part.record("sh", "-c", 'NCCL_HOSTID=rank$RANK exec "$0" "$@"', *part.training("--steps", 30, "--batch", 16), ranks=2,
                timeout=60, NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo", NCCL_MAX_CTAS="2", NCCL_MAX_NCHANNELS="2")
    said = []
    for rank in (0, 1):
        trace = part.trace(rank=rank)
        calls, ran, joined = trace.rows(f"SELECT count(*), count(start_ns), count(stream_id) {OF_NCCL}")[0]
        part.expect(f"rank {rank}: NCCL's collectives", calls > 0, calls)
        part.expect(f"rank {rank}: collectives know their kernels", ran > 0, ran)
        part.figure(f"rank {rank}: collectives; with their kernel's times; with a stream", f"{calls}; {ran}; {joined}")
        said.append(f"rank {rank}: {ran} of {calls} with their kernel")
    report = json.loads(part.run(part.dprof, "report", part.folder / "run", "--format", "json"))
    matched = sum(entry["n"] for entry in report["collectives"] or [])
    part.expect("collectives are matched across the ranks", matched > 0, matched)
    part.figure("matched", matched)
    return ", ".join(said)


def rehearse_two_ranks(part):
    """NCCL's part of it, by a program that makes NCCL's calls to the plugin."""
    part.record(part.bundle / "test_bin/nccl_host", "v5", run="nccl", ranks=None, RANK="0", WORLD_SIZE="2",
                LD_LIBRARY_PATH=str(part.bundle / "lib"))
    trace = part.trace("nccl")
    calls = trace.value(f"SELECT count(*) {OF_NCCL}")
    part.expect("meta.nccl_source is on", trace.meta.get("nccl_source") == "on", trace.meta.get("nccl_source"))
    part.expect("NCCL's collectives", calls > 0, calls)
    return f"{calls} collectives of a made-up NCCL"


def nvml(part):
    """What NVML told meanwhile, and whether the GPU was throttled. Nothing is set."""
    part.record_python(*part.steps(1500), "--batch", 2048, options=("--detail", "light"))
    trace = part.trace()
    names = dict(trace.rows("SELECT kind, count(*) FROM system_sample_text WHERE kind LIKE 'gpu.%' GROUP BY kind"))
    part.expect("samples of NVML", any(name.startswith("gpu.sm_clock") for name in names), sorted(names))
    reasons = collections.Counter(row[0] for row in trace.rows(
        "SELECT value FROM system_sample_text WHERE kind LIKE 'gpu.throttle_reasons_mask%'"))
    seen = sorted({1 << bit for mask in reasons for bit in range(32) if int(mask) >> bit & 1})
    part.figure("kinds of samples", len(names))
    part.figure("reasons for lower clocks that were seen", " ".join(hex(bit) for bit in seen) or "none")
    return f"{len(names)} kinds of samples; reasons for lower clocks: {' '.join(hex(bit) for bit in seen) or 'none'}"


def flush(part):
    part.record_python(*part.steps(400), options=("--detail", "standard"))
    trace = part.trace()
    last, kernel = trace.meta.get("last_gpu_flush_ns"), trace.value("SELECT max(start_ns) FROM gpu_activity")
    part.expect("buffers were flushed", last is not None, last)
    steps = sorted(row[0] for row in trace.rows(
        "SELECT duration_ns FROM host_range JOIN string ON string.id = name_id WHERE value = 'step' AND duration_ns IS NOT NULL"))
    if steps:
        part.figure("a step, median", statistics.median(steps) / 1e6, "ms")
        part.figure("a step, 99 of 100", steps[int(0.99 * len(steps))] / 1e6, "ms")
    part.figure("last flush after the last kernel", (int(last or 0) - (kernel or 0)) / 1e6, "ms")
    return f"median step {statistics.median(steps) / 1e6:.2f} ms, 99 of 100 below {steps[int(0.99 * len(steps))] / 1e6:.2f} ms" if steps else "no steps"


def profiler_import(part):
    """The same ten steps by torch.profiler and by dprof: as many kernels, and as much time in them?"""
    profile = part.folder / "profile.json"
    part.run(*part.training("--steps", 40, "--profile", profile))
    part.run(part.dprof, "import", profile, "-o", part.folder / "imported", "--overwrite", want=(0, 5))
    part.record_python("--steps", "40", options=("--detail", "standard", "--steps", "19:29"))
    theirs, ours = part.trace("imported"), part.trace()
    figures = []
    for who, trace in (("torch.profiler", theirs), ("dprof", ours)):
        count, took = trace.rows("SELECT count(*), sum(duration_ns) FROM gpu_activity WHERE kind = 0")[0]
        part.figure(f"{who}: kernels", count)
        part.figure(f"{who}: time in kernels", (took or 0) / 1e6, "ms")
        figures.append((count, took or 0))
    (their_count, their_ns), (our_count, our_ns) = figures
    part.expect("within 15 % as many kernels in ten steps", 0 < abs(our_count) and abs(our_count - their_count) <= 0.15 * their_count,
                f"{our_count} and {their_count}")
    return (f"dprof {our_count} kernels and {our_ns / 1e6:.2f} ms in them, torch.profiler {their_count} and {their_ns / 1e6:.2f} ms")


def rehearse_graphs(part):
    trace = record_fake(part, "libfake_cupti.so")
    rows = trace.value("SELECT count(*) FROM gpu_activity JOIN string ON string.id = name_id WHERE value = 'CUDA graph'")
    part.expect("rows of whole graphs", rows > 0, rows)
    return f"{rows} row of a made-up graph"


QUESTIONS = [
    Question("kernels", "Does the driver call InitializeInjection, does subscribing work, and are kernels joined to their launches "
             "with per-function enables only?", 90, kernels, rehearse_kernels, (("run", 0),)),
    Question("python", "The same from Python's torch, with NCCL's plugin", 120, python, None, (("run", 0),)),
    Question("clock", "Do kernel times lie after their launch on the common clock?", 90, clock),
    Question("two-ranks", "Two ranks on one GPU, told apart by `NCCL_HOSTID`: are NCCL's kernels joined to its launches, and "
             "collectives matched?", 90, two_ranks, rehearse_two_ranks, (("run", 0), ("run", 1))),
    Question("torch-profiler", "Does a later torch.profiler lose its GPU rows, and do `--cuda=yield --armed` save them?", 150,
             torch_profiler),
    Question("dependencies", "Are event and stream ids there in the callbacks?", 60, dependencies),
    Question("killed", "What is in the trace after kill -9, Ctrl-C and `os._exit`?", 150, killed),
    Question("graphs", "Is each replay of a CUDA graph one row?", 60, graphs, rehearse_graphs, (("run", 0),)),
    Question("allocator", "Does the CUDA allocator's trace give PyTorch's own peak?", 60, allocator),
    Question("flush", "Does a flush each second stall launches?", 60, flush),
    Question("import", "Do the figures of torch.profiler's trace, imported, agree with dprof's own?", 120, profiler_import),
    Question("nvml", "What does NVML tell meanwhile, and is throttling seen?", 90, nvml),
    Question("cost", "What does recording cost a step: light, standard, full, without CUDA; torch.profiler and Nsight Systems beside it",
             360, cost),
]

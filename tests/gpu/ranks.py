# SPDX-License-Identifier: Apache-2.0
"""Two ranks on one GPU: what NCCL reports, and whether it fits what CUPTI reports."""
import json
import statistics

from part import last_json

# NCCL takes ranks with different host ids for ranks of two hosts, and lets them share a GPU. Few channels, so that the kernels
# of both fit on it; the loopback network; a limit, since a maintainer of NCCL calls such runs unsafe.
SHARED_GPU = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_MAX_CTAS": "2", "NCCL_MAX_NCHANNELS": "2"}
LIMIT_S = 60
NCCL_COLLECTIVES = "collective JOIN communicator ON communicator.id = communicator_id WHERE backend = 2"


def record_ranks(part, steps, run="run", **more):
    """Gives the steps' times of rank 0."""
    job = part.python_job("--steps", steps, "--batch", 16)
    shared = SHARED_GPU if part.on_gpu else {}
    output = part.record("sh", "-c", 'NCCL_HOSTID=rank$RANK exec "$0" "$@"', *job, ranks=2, run=run, timeout=LIMIT_S,
                         options=("--detail", "standard"), **shared, **more)
    return last_json(output)["step_ms"]


def two_ranks(part):
    record_ranks(part, 40 if part.on_gpu else 15)
    said, calls = [], []
    for rank in (0, 1):
        trace = part.trace(rank=rank)
        count, ran, streams, algorithms = trace.rows(
            f"SELECT count(*), count(start_ns), count(stream_id), count(algorithm) FROM {NCCL_COLLECTIVES}")[0]
        part.expect(f"rank {rank}: NCCL's collectives", count > 0, count)
        part.expect(f"rank {rank}: 95 % of them have their kernel", ran >= 0.95 * count, f"{ran} of {count}")
        part.figure(f"rank {rank}: collectives; with their kernel's times; with its stream; with NCCL's algorithm",
                    f"{count}; {ran}; {streams}; {algorithms}")
        part.figure(f"rank {rank}: communicators", trace.value("SELECT count(*) FROM communicator WHERE backend = 2"))
        calls.append(set(trace.rows(f"SELECT hash, ordinal, function, sequence, bytes FROM {NCCL_COLLECTIVES} "
                                    "AND sequence IS NOT NULL")))
        said.append(f"rank {rank}: {ran:,} of {count:,} collectives with their kernel")
    if part.mode == "cpu":
        return ""
    both = len(calls[0] & calls[1])
    part.expect("both ranks have the same collectives", 0 < both == len(calls[0]) == len(calls[1]),
                f"{both} in both, of {len(calls[0])} and {len(calls[1])}")
    report = json.loads(part.run(part.dprof, "report", part.folder / "run", "--format", "json"))
    matched = sum(entry["n"] for entry in report["collectives"] or [])
    part.expect("the report matches them", matched > 0, matched)
    part.figure("matched by the report", matched)
    return f"{'; '.join(said)}; {both:,} the same on both ranks"


def rehearse_two_ranks(part):
    """NCCL's part, by a program that makes NCCL's calls to the plugin."""
    said = []
    for version in ("v5", "v6"):
        part.record(part.bundle / "test_bin/nccl_host", version, run=version, ranks=None, RANK="0", WORLD_SIZE="2")
        trace = part.trace(version)
        part.expect("meta.nccl_source is on", trace.meta.get("nccl_source") == "on", trace.meta.get("nccl_source"))
        count = trace.value(f"SELECT count(*) FROM {NCCL_COLLECTIVES}")
        part.expect("NCCL's collectives", count > 0, count)
        said.append(f"{count} collectives of a made-up NCCL {version}")
    return "; ".join(said)


def events(part):
    """Channels and the network proxy, which are asked for only by DPROF_NCCL_EVENTS: what they show, and what they cost."""
    steps = 60 if part.on_gpu else 15
    plain = record_ranks(part, steps, run="plain")
    more = record_ranks(part, steps, run="run", DPROF_NCCL_EVENTS="channels,proxy")
    for name, ms in (("without", plain), ("with channels and proxy", more)):
        part.figure(f"a step, {name}, median", statistics.median(ms) if ms else None, "ms", n=len(ms))
    said = []
    for rank in (0, 1):
        trace = part.trace(rank=rank)
        kinds = dict(trace.rows("SELECT kind, count(*) FROM nccl_event_text GROUP BY kind"))
        owned = trace.value("SELECT count(*) FROM nccl_event WHERE collective_id IS NOT NULL")
        part.figure(f"rank {rank}: events by kind",
                    ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())) or "none")
        for kind in ("channel", "proxy"):
            part.expect(f"rank {rank}: events of kind {kind}", kinds.get(kind, 0) > 0, kinds.get(kind, 0))
        part.expect(f"rank {rank}: each refers to the collective that it served", owned == sum(kinds.values()),
                    f"{owned} of {sum(kinds.values())}")
        said.append(f"rank {rank}: " + (", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "none"))
    return "; ".join(said)


def rehearse_events(part):
    part.record("sh", "-c", f"yes go | {part.bundle / 'test_bin/nccl_host'} options", ranks=None, RANK="0", WORLD_SIZE="2",
                HOST_NCCL_VERSION="22809", DPROF_NCCL_EVENTS="channels,proxy")
    kinds = dict(part.trace().rows("SELECT kind, count(*) FROM nccl_event_text GROUP BY kind"))
    part.expect("channels and proxy", set(kinds) == {"channel", "proxy"}, kinds)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) + " events of a made-up NCCL"

# SPDX-License-Identifier: Apache-2.0
"""The generated half of scripts/what-if: which runs there are, and what is changed in each.

A base is a run of dprof-synth; a question is a change that dprof is asked about, and how synth makes the run in which
that is really so: by the same seed, so that all that was not changed is as it was.
"""
import collections

# options: dprof-synth's, without the dashes; True: a flag. faults: its words for --fault.
Base = collections.namedtuple("Base", "name technique shape options faults questions")
# then: options that differ; without: faults that are gone; more: others in their place; passes: of the changed run in a step;
# nothing: it is to be found to gain nothing.
Question = collections.namedtuple("Question", "change then without more passes nothing", defaults=({}, (), (), 1, False))

STEPS = 44  # 40 of them counted: whole periods of what strikes each 4th, 5th, 8th or 10th step
RANKS, HOSTS = 8, 2
TECHNIQUES = {
    "ddp": {"technique": "ddp"}, "zero1": {"technique": "zero1"}, "zero2": {"technique": "zero2"},
    "zero3": {"technique": "zero3"}, "tensor+data": {"technique": "tensor-data"},
    "pipeline": {"technique": "pipeline", "ranks": 4},
    "pipeline, 2 replicas": {"technique": "pipeline", "replicas": 2},
    "pipeline, 4 replicas": {"technique": "pipeline", "ranks": 16, "replicas": 4},
    "parameter server": {"technique": "parameter-server", "ranks": 4},
}
HEAVY = {"cpu": {"bandwidth": 1.25, "latency-us": 300, "bytes-per-step": 24e6},
         "gpu": {"bandwidth": 5, "latency-us": 300, "bytes-per-step": 100e6}}
# Parameters go over one link one after the other there.
HEAVY_SERVER = {"cpu": {"bandwidth": 1.25, "latency-us": 300, "bytes-per-step": 4e6},
                "gpu": {"bandwidth": 5, "latency-us": 300, "bytes-per-step": 16e6}}
KERNEL = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64"


def usual(technique, shape, seed, **more):
    options = {"ranks": RANKS, "hosts": HOSTS, "steps": STEPS, "shape": shape, "seed": seed, "noise": 0.01 * (1 + seed % 2),
               "rows-per-step": 100, "bytes-per-step": 8e6 if shape == "gpu" else 4e5}
    return options | TECHNIQUES[technique] | more


def removed(fault, change=None):
    rank = fault.split("rank=")[1].split(",")[0] if "rank=" in fault else ""
    return Question(change or f"rank:{rank}=peers", without=(fault,))


def bases_of(technique, shape, seed):
    """Of one technique: each kind of run once, named by what is special."""
    bases = []

    def add(name, questions, faults=(), **more):
        options = usual(technique, shape, seed, **more)
        bases.append(Base(f"{name}/{technique}/{shape}/{seed}", technique, shape, options, faults, questions))

    ranks = usual(technique, shape, seed)["ranks"]
    server = technique == "parameter server"
    culprit, other = 1 + seed % (ranks - 1), 1 + (seed + 1) % (ranks - 1)
    for fault in (f"slow-backward:rank={culprit},ms=15", f"sleep-forward:rank={culprit},ms=20",
                  f"slow-backward:rank={other},ms=5"):
        add(fault.split(":")[0] + (" small" if "ms=5" in fault else ""), [removed(fault)], (fault,))
    slow = f"slow-rank:rank={culprit},factor=1.3"
    less = slow.replace("1.3", "1.04")
    add("slow rank", [removed(slow), Question(f"rank:{culprit}*0.8", without=(slow,), more=(less,))], (slow,))
    pair = (f"slow-forward:rank={culprit},ms=20", f"slow-forward:rank={other},ms=8")
    hidden = "pipeline" not in technique and not server and technique != "tensor+data"
    questions = [Question("stragglers=none", without=pair)]
    if hidden:  # where all meet, nobody waits for the lesser one
        questions.append(Question(f"rank:{other}=peers", without=pair[1:], nothing=True))
    add("two slow ranks", questions, pair)
    if usual(technique, shape, seed)["ranks"] >= 8 and "pipeline" not in technique:
        host = "slow-rank:host=1,factor=1.25"
        add("slow host", [removed(host, "host:node-1=peers")], (host,))
    heavy = (HEAVY_SERVER if server else HEAVY)[shape]
    add("much to send", [
        Question("bandwidth*2", {"bandwidth": 2 * heavy["bandwidth"], "inside-bandwidth": 2 * (5 if shape == "cpu" else 200)}),
        Question("latency=0", {"latency-us": 1e-6, "inside-latency-us": 1e-6}),
        Question("transfer*0.5", {"bandwidth": 2 * heavy["bandwidth"], "latency-us": 150,
                                  "inside-bandwidth": 2 * (5 if shape == "cpu" else 200),
                                  "inside-latency-us": 7.5 if shape == "cpu" else 2.5})], buckets=8, **heavy)
    if not server:
        double = {"ranks": 2 * ranks, "hosts": 2 * HOSTS}
        if "replicas" in TECHNIQUES[technique]:
            double["replicas"] = 2 * TECHNIQUES[technique]["replicas"]
        if technique != "pipeline":
            add("to be doubled", [Question("world=2x", double)], **heavy | {"latency-us": 30}, buckets=8)
    add("slow loader", [Question("input=0", {"free-input": True})], healthy="all-input")
    saving = "checkpoint:rank=0,ms=200"
    add("checkpoints", [removed(saving, "checkpoint=0")], (saving,))
    collects = "gc-collects:ms=60"
    add("collections", [Question("gc=together", without=(collects,), more=(collects + ",shape=periodic,every=10",)),
                        Question("gc=0", without=(collects,))], (collects,))
    if shape == "gpu":
        syncs = tuple(f"item-sync:rank={rank},count=8,ms=0" for rank in range(ranks))
        # Where nothing ever waits for the device a step has no end; one in four keeps time.
        add("many synchronisations", [Question("sync=none", {"sync-every": 4}, without=syncs)], syncs)
        add("bound by launches", [Question("launch=graphs", {"dispatch-us": 0})],
            **{"dispatch-us": 250, "rows-per-step": 600})
        add("plain", [Question(f"kernel:{KERNEL}*0.7", {"scale": f"{KERNEL}=0.7"}),
                      Question("phase:backward*0.8", {"scale": "backward=0.8"})])
    else:
        add("plain", [Question("phase:forward*0.9", {"scale": "forward=0.9"}),
                      Question("op:aten::mm*0.5", {"scale": "aten::mm=0.5"}),
                      Question("input*0", {"free-input": True})])
        add("much Python", [Question("host-work=0", {"gap-us": 0})], **{"gap-us": 2000})
    if technique == "ddp":
        many = {"buckets": 24, "latency-us": 800 if shape == "cpu" else 400}
        add("small buckets", [Question(f"bucket_cap={cap}MiB", {"bucket-cap": cap}) for cap in (5, 25)],
            **heavy | many | {"bucket-cap": 1})
        add("one bucket", [Question("bucket_cap=5MiB", {"bucket-cap": 5})], **heavy | many | {"bucket-cap": 25})
        add("reduced after backward", [Question("overlap=full", {"no-overlap": None})],
            **heavy | {"buckets": 8, "no-overlap": True})
        add("to be accumulated", [Question("accumulate=4", {"accumulate": 4}, passes=4)], **heavy | {"buckets": 8})
    return bases


def all_bases(seeds):
    """In an order in which each nth is a fair sample, and always the same one."""
    bases = [base for seed in seeds for technique in TECHNIQUES for shape in ("cpu", "gpu")
             for base in bases_of(technique, shape, seed)]
    return sorted(bases, key=lambda base: hash_of(base.name))


def hash_of(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 % 2**32
    return value


def words(options, faults):
    """For dprof-synth's command line."""
    said = []
    for key, value in options.items():
        if value is True:
            said.append(f"--{key}")
        elif value is not None:
            said += [f"--{key}", str(value)]
    for fault in faults:
        said += ["--fault", fault]
    return said


def changed(base, question):
    """The command line of the run in which it is really so."""
    return words(base.options | question.then, [f for f in base.faults if f not in question.without] + list(question.more))

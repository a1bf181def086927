# SPDX-License-Identifier: Apache-2.0
"""Writes docs/diagnosis.md from kept results: nothing in the page is written by hand."""
import collections

from score import FLOOR, FULL, Judged, Score, false_alarms, from_impact, summary

# Of generated runs, of real ones.
TARGETS = (("precision_10", "precision, faults of 10 % and more", 0.99, 0.98),
           ("recall_10", "recall, faults of 10 % and more", 0.97, 0.95),
           ("precision_3", "precision, faults of 3 % and more", 0.97, 0.95),
           ("recall_3", "recall, faults of 3 % and more", 0.80, None),
           ("cause_10", "cause right, of the culprits found, 10 % and more", 0.95, 0.93),
           ("cause_3", "cause right, 3 % and more", 0.95, None),
           ("shape_10", "shape right, 10 % and more", None, None),
           ("cost_within_15_10", "cost within 15 % of the truth, 10 % and more", None, None),
           ("cost_within_15_3", "cost within 15 % of the truth, 3 % and more", None, None),
           ("first_finding_3", "first finding right, runs with one fault, 3 % and more", 0.80, 0.80),
           ("first_worth_3", "first finding right, or what it advises gains more", None, None))
GENERATED_ONLY = "first_worth_3"  # a real run is not executed again

HEAD = """# Diagnosis: is the report right?

Written by `scripts/scoreboard` from the results kept in `tests/diagnosis/results/`; do not edit.

    scripts/scoreboard --synthetic          all generated runs again, on two cores in about {minutes} minutes
    scripts/scoreboard --synthetic --seed 1 other runs of the same kinds; not kept: to see that nothing is fitted to those below
    scripts/scoreboard --harder             the harder generated runs again, about as many
    scripts/scoreboard --real 5             each kind of real run 5 times; needs a quiet machine, and root for hosts
    scripts/scoreboard --healthy 2          real runs without a fault, of six models in ten settings, twice each
    scripts/scoreboard --quick              the part that CI runs; fails when it falls below tests/diagnosis/level.json
    scripts/scoreboard                      this page again, from what is kept

## What is counted

- **Impact** of a run: the true cost of its faults per step, of the step with them. In generated runs the cost is that of the
  same run executed without the fault; in real runs it is measured by the program's own clock in a second run, in which blocks
  of 20 steps with the fault and without it alternate: each block with it is compared with its two neighbours. Such a cost has
  an error; prices are judged where its 95 % interval is within 15 % (score.py: SHARP).
- **Culprit**: `stragglers` of the report (and `slow_links`) name whom it holds responsible. A verdict is right if the rank is
  one of the fault's, or the host is the fault's; of a rotating delay, if it names no rank; of a slow link that every collective
  passes, if it says "network" and names no rank. Every other verdict is a false one.
- **Precision** = right verdicts / all verdicts, over the runs with faults of at least that impact; the false ones of *all*
  other runs, healthy or with smaller faults, count too.
- **Recall** = culprits named / all culprits. It is promised from 10 % on; below 3 % the report must be right or name nobody.
  The generator meets the impact that it is asked for within a tenth: some runs of the 10 % row cost 9 %, and do not count as
  10 %.
- **Cause** is right if it is one that the kind of fault allows (last table). **Cost error** = |reported − true| / true of the
  culprit found, in runs with one: of two that hide each other neither has a price of its own.
- **False alarms**: healthy runs in which anybody, or a rotating delay, is named. In real ones a rank can be slow although
  nobody injected anything: who is named rightly by counters that the script, not dprof, read from `/proc` counts as shown, not
  as an alarm. CPU time (`compute`), time without a core (`cpu_contention`) or kernel time and page faults (`allocator`) have to
  differ from the peers' by half of what the rank is said to cost.
- **First finding** is right if it is about the culprit (or no rank in particular) and has the right cause. Another one can be
  worth more to a user all the same: the same run is executed with what it advises (more micro-batches, gradients of half as
  many bytes, twice as many buckets, an all-reduce instead of a server), and another row also counts those where that gains
  more than the culprit costs.
- Intervals are Wilson's, of 95 %.
- Some must be missed ([what cannot be known](analysis/stragglers.md#what-cannot-be-known)): a delay that shows in too few
  steps, pauses of all ranks that are rarer than every machine's hiccups, a slow host that most of the comparable links touch,
  as one in the middle of a pipeline of four hosts.

Who labelled it: the generator and `dprof-trainer` do what they are told, and write down what they did. *Synthetic* numbers are
from dprof's own generator `dprof-synth`, which executes a model of training and has no code in common with the analyser: they
test estimators, not hardware. *Real* ones are from processes with PyTorch on this machine. They are never mixed.
"""


def percent(value):
    return "–" if value is None else f"{100 * value:.0f} %"


def table(header, rows, right=()):
    rule = ["--:" if i in right else "---" for i in range(len(header))]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [header, rule, *rows]) + "\n"


def totals(runs, half):
    figures = summary(runs)
    shown = [row for row in TARGETS if not half or row[0] != GENERATED_ONLY]
    rows = [(words, figures[key], f"≥ {targets[half]:.2f}" if targets[half] else "") for key, words, *targets in shown]
    rows.append(("healthy runs with a false alarm", figures["false_alarms"], "0"))
    if figures["failed"]:
        rows.append(("runs without a report", figures["failed"], "0"))
    return table(("", "rate (of, 95 % interval)", "target"), rows)


def by_kind(runs):
    kinds = collections.defaultdict(list)
    for run in runs:
        if not run.healthy:
            kinds[run.kind].append(run)
    rows = []
    for kind, own in kinds.items():
        full, floor = from_impact(own, FULL), from_impact(own, FLOOR)
        rows.append((kind, len(own), rate(full.recall), rate(full.precision), rate(floor.recall), rate(floor.precision),
                     rate(floor.cause), percent(floor.cost_error), rate(floor.first)))
    return table(("kind", "runs", "recall ≥ 10 %", "precision ≥ 10 %", "recall ≥ 3 %", "precision ≥ 3 %", "cause ≥ 3 %",
                  "median cost error", "first finding"), rows, range(1, 9))


def rate(one):
    return f"{one.right}/{one.n}" if one.n else "–"


def by_size(runs):
    sizes = sorted({run.size for run in runs if not run.healthy})
    rows = []
    for size in sizes:
        own = [run for run in runs if not run.healthy and run.size == size]
        score = Score(own)
        rows.append((percent(size), len(own), score.recall, score.precision, score.cause, percent(score.cost_error),
                     score.cost_within))
    return table(("asked for, of the step", "runs", "recall", "precision", "cause", "median cost error", "cost within 15 %"),
                 rows)


def healthy_table(runs):
    kinds = collections.Counter(run.kind for run in runs if run.healthy)
    alarms = collections.Counter(run.kind for run in runs if run.healthy and run.false)
    shown = collections.Counter(run.kind for run in runs if run.healthy and run.shown)
    if not shown:
        return table(("healthy, but", "runs", "false alarms"), [(kind, n, alarms[kind]) for kind, n in kinds.items()], (1, 2))
    return table(("healthy, but", "runs", "named, and shown by counters", "false alarms"),
                 [(kind, n, shown[kind], alarms[kind]) for kind, n in kinds.items()], (1, 2, 3))


def by_ranks(runs):
    counts = sorted({run.line["spec"]["ranks"] for run in runs})
    rows = []
    for ranks in counts:
        own = [run for run in runs if run.line["spec"]["ranks"] == ranks]
        full = from_impact(own, FULL, healthy=False)
        rows.append((ranks, len(own), rate(full.recall), rate(full.precision), rate(full.cause), rate(false_alarms(own))))
    return table(("ranks", "runs", "recall ≥ 10 %", "precision ≥ 10 %", "cause ≥ 10 %", "false alarms"), rows, range(6))


def misses(runs):
    lines = [f"- `{run.line['id']}` ({percent(run.impact)}): {run.reason()}" for run in runs if run.reason()]
    return "\n".join(sorted(lines)) + "\n" if lines else "None.\n"


def allowed(runs):
    causes = {}
    for run in runs:
        for expected in run.line.get("expected", []):
            causes.setdefault(run.kind, {})[" or ".join(expected["causes"]) or "any"] = expected["shape"]
    rows = [(kind, ", ".join(of), ", ".join(dict.fromkeys(of.values()))) for kind, of in sorted(causes.items())]
    return table(("kind", "causes that count as right", "shape"), rows)


def measured(lines, about):
    """By which commit on which machine, where that was noted."""
    by = collections.Counter((line.get("commit"), line.get("machine")) for line in lines)
    if "commit" in about:
        by = {(about["commit"], about["machine"]): len(lines)}
    notes = [f"{count} by commit {commit} on {machine}" for (commit, machine), count in sorted(by.items(), key=str) if commit]
    earlier = by.get((None, None), 0)
    return "; ".join([*notes, *([f"{earlier} by earlier commits"] if earlier else [])])


def page(synthetic, harder, real):
    """Each is (lines, about)."""
    parts = [HEAD.format(minutes=synthetic[1].get("minutes", "?"))]
    for half, title, (lines, about), text in (
            (0, "Synthetic runs", synthetic,
             "Faults of 1, 3, 5, 10 and 30 % of the step, on CPUs (Gloo) and GPUs (NCCL), of 2 to 64 ranks, over DDP, "
             "ZeRO 1 to 3, tensor and data parallelism and pipelines, with three levels of noise and clocks that are seconds "
             "apart."),
            (0, "Harder synthetic runs", harder,
             "Each kind makes one thing harder; the usual faults take turns in it. Noise: `heavy-tails` has Student's t "
             "with 2.5 degrees of freedom, `autocorrelated` a correlation of 0.9 from step to step, `unequal-hosts` a "
             "level for each host, drawn from two orders of magnitude. Jobs: `comm-bound` (transfers alone take longer "
             "than computation), `contended` (computation takes 1.4 times as long during a collective), `drifting-load` "
             "(all ranks compute 1.6 times as long at the end), `no-marks` (only operators and collectives); `everything` "
             "is all of these but `no-marks`, and `layouts-of-4` each way in which four ranks can work together. Faults: "
             "`mid-backward` (inside a bucket's operators), `between-buckets`, `growing` (evenly over the run), on all "
             "ranks of a group (`host-group`, `tensor-group`, `pipeline-replica`) and on one replica of a stage "
             "(`stage-replica`). With several faults, recall counts those that would cost as much alone."),
            (1, "Real runs", real,
             "`dprof-trainer` and unmodified Python scripts, recorded by `dprof record`. Each rank waits 40 ms per step as "
             "if a device computed, and computes little: two cores of a virtual machine that compute all the time differ "
             "by 10 to 20 % for seconds. At 3 ranks and more only impacts of 10 % and more count. Smaller ones are shown "
             "on 2 ranks. The healthy runs below those of the trainer and of Python compute all the time: six models, "
             "steps of 4 to 190 ms. Jobs of Lightning, accelerate and Hugging Face's Trainer need `scripts/setup "
             "--frameworks`. Left out: GPUs (but see [GPU results](gpu_results.md)), and faults that end a job, which have "
             "tests of their own. The cost of `cpu-contention` cannot be chosen: another program has half of the rank's "
             "core.\n\nglibc returns memory to the system by default, in some runs on one rank only. The ConvNet on 2 ranks at "
             "batch 64, by commit 463d3b88 (`scripts/scoreboard --healthy 20 --only '^convnet/short steps'`): 6 of 20 runs "
             "name a rank, each with the cause `allocator`, and the counters show it in all 6 (229,000 to 354,000 page "
             "faults against 44,000 to 121,000, 0.52 to 0.76 s in the kernel against 0.18 to 0.29 s). With "
             "`MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` set, none of 20 names anybody, and the median step "
             "falls from 18.2 to 15.0 ms. By commit d745e1ed on slower cores (`OMP_NUM_THREADS=1 dprof record -n 2 -- "
             "dprof-trainer --model convnet --batch 64 --steps 300`, 20 times each): 9 name a rank, each as `allocator` "
             "with its page faults as evidence and the two variables as advice; with them, none of 20.\n")):
        parts.append(f"\n## {title}\n\n")
        if not lines:
            parts.append("Not run yet.\n")
            continue
        runs = [Judged(line) for line in lines]
        healthy = sum(run.healthy for run in runs)
        parts += [f"{text}\n{len(runs)} runs, {healthy} of them healthy: {measured(lines, about)}.\n\n", totals(runs, half),
                  "\n### By size\n\n", by_size(runs), "\n### By kind\n\n", by_kind(runs),
                  "\n### By number of ranks\n\n", by_ranks(runs), "\n### Healthy runs\n\n", healthy_table(runs),
                  "\n### Every miss\n\n", misses(runs), "\n### What counts as right\n\n", allowed(runs)]
    return "".join(parts)

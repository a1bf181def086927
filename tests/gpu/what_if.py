# SPDX-License-Identifier: Apache-2.0
"""Does what `dprof report --what-if` predicts of a job on a GPU come true when the job is changed?"""
import json
import statistics

from part import HERE, interval, last_json

# Cases of jobs/what_if.py: the question that removes the disease.
QUESTIONS = {"input": "input=0", "sync": "sync=none", "launch": "launch=graphs", "kernel": "kernel:{scan}*0.5",
             "checkpoint": "checkpoint=0"}


def asked(part, case, question):
    """The report's answer and no reason, or None and why there is none."""
    if "{scan}" in question:  # by the name that the library's kernels have here
        names = [name for name in ("Scan", "scan") if part.trace(case).value(
            "SELECT count(*) FROM gpu_activity JOIN string ON string.id = name_id WHERE kind = 0 AND value GLOB ?",
            f"*{name}*")]
        if not names:
            return None, "no kernel that scans was recorded"
        question = question.format(scan=names[0])
    said = json.loads(part.run(part.dprof, "report", part.folder / case, "--what-if", question, "--format", "json"))
    one = next(one for one in said["replay"]["whatif"] if one["asked"])
    return (None, one["refused"]) if one["step_ns"] is None else (one, "")


def replayed_graph(part):
    """How long the device takes for the captured step, and for the same kernels when they are launched one by one."""
    if not part.on_gpu:
        return
    part.record(part.python, HERE / "jobs/what_if.py", "launch", "--steps", 60, "--well", run="graph")
    whole = part.trace("graph").rows("SELECT duration_ns FROM gpu_activity WHERE graph IS NOT NULL AND duration_ns > 0")
    one_by_one = part.trace("launch").rows("SELECT sum(duration_ns), count(*) FROM gpu_activity WHERE kind = 0")[0]
    if whole and one_by_one[1]:
        part.figure("launch: a captured step on the device", statistics.median(ns for ns, in whole) / 1e6, "ms", n=len(whole))
        part.figure("launch: time in kernels of 120 steps; kernels", f"{one_by_one[0] / 1e6:.3f} ms; {one_by_one[1]}")


def what_if(part):
    device = [] if part.on_gpu else ["--device", "cpu"]
    said = []
    for case, question in QUESTIONS.items():
        job = (part.python, HERE / "jobs/what_if.py", case)
        truth = last_json(part.run(*job, "--truth", 6 if part.on_gpu else 1, *device))
        part.record(*job, *part.steps(120, on_cpu=40), *device, run=case)
        ratio = statistics.median(truth["ratios"])
        low, high = interval(truth["ratios"]) if len(truth["ratios"]) >= 3 else (None, None)
        part.figure(f"{case}: a step, with and without the fault", f"{truth['ill_ms']:.3f}; {truth['well_ms']:.3f} ms")
        part.figure(f"{case}: the change, measured", 100 * (ratio - 1), "%",
                    *(100 * (end - 1) if end is not None else None for end in (low, high)), len(truth["ratios"]))
        one, why = asked(part, case, question)
        if one is None:
            part.figure(f"{case}: {question}", f"not answered: {why}")
            said.append(f"{case} not answered")
            continue
        before = one["step_ns"] + one["gain_ns"]
        change = one["step_ns"] / before
        bound = one["bound_ns"] / before
        part.figure(f"{case}: the change, predicted; its bound", f"{100 * (change - 1):+.1f} %; ± {100 * bound:.1f} %")
        part.figure(f"{case}: the predicted step is off by", 100 * abs(change / ratio - 1), "%")
        if part.on_gpu:
            part.expect(f"{case}: the bound contains the change", change - bound <= high and low <= change + bound,
                        f"{100 * (change - bound - 1):+.1f} to {100 * (change + bound - 1):+.1f} %")
        said.append(f"{case} {100 * (change - 1):+.1f} % predicted, {100 * (ratio - 1):+.1f} % measured")
    replayed_graph(part)
    return "; ".join(said)

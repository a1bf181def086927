# SPDX-License-Identifier: Apache-2.0
"""What recording costs a training run: the step time of dprof-trainer bare, recorded at light and at full detail.

Each round runs the variants one after the other, in an order that turns from round to round, and gives one ratio per variant
against the bare run of the same round; printed are the median ratio and its 95 % bootstrap interval over the rounds. The upper
end of the interval must be below the target; where the interval is wider than the target, or the target lies within it, the
result is "not decided". "bare again" is a second bare run in each round: what it differs by is the method's own bias and noise,
in the same table. Beside the step's wall time stand the CPU time and, where the machine counts them, the instructions of the
ranks' processes from start to end (they feel the machine's other work less), and the recorder's CPU time as a share of the bare
ranks'; each is judged by itself. torch.profiler runs on the same model in Python in the same rounds, against Python's own bare
run. Once with 1 rank and once with 2. Needs `scripts/setup --python` for torch.profiler; without it that line is left out.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import paired
import process_cost

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = {"dprof light": 0.005, "dprof full": 0.02}
MEASURES = {"step_ms": "step", "cpu_s": "CPU of the ranks", "instructions": "instructions of the ranks"}
SHORTEST_STEP_MS = 50
BASE = {"bare again": "bare", "dprof light": "bare", "dprof full": "bare", "torch.profiler": "Python, bare"}


def run(command):
    done = subprocess.run([str(word) for word in command], env=dict(os.environ, OMP_NUM_THREADS="1"), capture_output=True,
                          text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"overhead: {command[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def trainer_step(options, ranks, detail, folder):
    command = [options.build / "bin/dprof-trainer", "--spawn", ranks, "--model", "convnet", "--batch", options.batch, "--steps",
               options.steps, "--lr", 0.01, "--momentum", 0.9]
    if detail:
        traces = folder / "run"
        shutil.rmtree(traces, ignore_errors=True)
    ranks_file = folder / "ranks.json"
    command = [sys.executable, ROOT / "bench/process_cost.py", ranks_file, *command]
    if detail:
        command = [options.build / "bin/dprof", "record", "--detail", detail, "-o", traces, "--", *command]
    output, whole = run_counted(command, folder)
    found = re.search(r"median ([\d.]+) ms per step", output)
    if not found:
        sys.exit(f"overhead: no times in what the trainer printed:\n{output[-2000:]}")
    cost = json.loads(ranks_file.read_text())
    recorder = whole["cpu_s"] - cost["cpu_s"] - cost["own_cpu_s"] if detail else 0.0
    return {"step_ms": float(found.group(1)), "cpu_s": cost["cpu_s"], "instructions": cost["instructions"],
            "recorder_cpu_s": recorder}


def run_counted(command, folder):
    os.environ["OMP_NUM_THREADS"] = "1"
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as error:
        code, whole = process_cost.run([str(word) for word in command], stdout=out.fileno(), stderr=error.fileno())
    if code != 0:
        sys.exit(f"overhead: {command[0]} ended with {code}:\n{(folder / 'err').read_text()[-2000:]}")
    return (folder / "out").read_text(), whole


def python_step(options, ranks, profiler):
    output = run([options.python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
                  ROOT / "bench/train_convnet.py", "--batch", options.batch, "--steps", options.steps + 20, "--profiler",
                  profiler])
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return {"step_ms": statistics.median(json.loads(lines[-1])["step_ms"])}


def verdict(low, high, target):
    if high - low > target:
        return "not decided (the interval is wider than the target)"
    if high <= target:
        return "met"
    return "not met" if low > target else "not decided"


def measure(options, ranks, folder):
    measures = {
        "bare": lambda: trainer_step(options, ranks, None, folder),
        "bare again": lambda: trainer_step(options, ranks, None, folder),
        "dprof light": lambda: trainer_step(options, ranks, "light", folder),
        "dprof full": lambda: trainer_step(options, ranks, "full", folder),
    }
    if options.python:
        measures["Python, bare"] = lambda: python_step(options, ranks, "none")
        measures["torch.profiler"] = lambda: python_step(options, ranks, "torch")
    names = list(measures)
    rounds = {name: [] for name in names}
    for number in range(options.pairs):
        turned = names[number % len(names):] + names[:number % len(names)]
        for name in turned:
            if "Python, bare" not in (name, BASE.get(name)) or number % options.profiler_every == 0:
                rounds[name].append(measures[name]())

    bare = statistics.median(figures["step_ms"] for figures in rounds["bare"])
    print(f"overhead: {ranks} rank{'s' if ranks > 1 else ''}, convnet, batch {options.batch}, {options.steps} steps, "
          f"{options.pairs} interleaved rounds; median step, bare: {bare:.2f} ms")
    print("| variant | measured | target | more than bare | 95 % interval | verdict |\n| --- | --- | --- | --- | --- | --- |")
    for name in names:
        if name in BASE:
            print_variant(name, rounds[name], rounds[BASE[name]], bare)


def print_variant(name, rounds, base, bare_ms):
    target = TARGETS.get(name)
    for key, what in MEASURES.items():
        pairs = [(of[key], against[key]) for of, against in zip(rounds, base) if of.get(key) and against.get(key)]
        if not pairs:
            continue
        more, low, high = paired.ratio(*zip(*pairs))
        said = "the method itself" if name == "bare again" else "for comparison"
        if target is not None:
            said = verdict(low - 1, high - 1, target)
            if key == "step_ms" and bare_ms < SHORTEST_STEP_MS:
                said = f"not decided (steps are shorter than {SHORTEST_STEP_MS} ms)"
        print(f"| {name} | {what} | {'' if target is None else f'≤ {100 * target:.1f} %'} | {share(more)} | "
              f"{share(low)} … {share(high)} | {said} |", flush=True)
    if target is not None:
        shares = [of["recorder_cpu_s"] / against["cpu_s"] for of, against in zip(rounds, base)]
        low, high = paired.interval(shares)
        print(f"| {name} | recorder's CPU | | {100 * statistics.median(shares):.2f} % | {100 * low:.2f} … {100 * high:.2f} % | "
              "beside the ranks |", flush=True)


BLOCK = 8  # steps


def measure_within(options, ranks, folder):
    """Recording goes on and off within one run, 8 steps each; a recorded block is compared with the two beside it. What differs
    from process to process (memory layout, cores) cancels out; what the preloaded library costs while it records nothing is in
    both sides."""
    print(f"overhead within one run: {ranks} rank{'s' if ranks > 1 else ''}, convnet, batch {options.batch}, "
          f"{options.within} steps, {BLOCK} recorded, {BLOCK} not\n"
          "| variant | target | blocks | step, not recorded | slow-down | 95 % interval | verdict |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for name, target in TARGETS.items():
        truth = folder / "truth.json"
        shutil.rmtree(folder / "run", ignore_errors=True)
        first = 2 * BLOCK
        run([options.build / "bin/dprof", "record", "--detail", name.split()[1], "--steps", f"{first}:{first + BLOCK}",
             "--every", 2 * BLOCK, "-o", folder / "run", "--", options.build / "bin/dprof-trainer", "--spawn", ranks,
             "--model", "convnet", "--batch", options.batch, "--steps", options.within, "--lr", 0.01, "--momentum", 0.9,
             "--truth", truth])
        step_ns = json.loads(truth.read_text())["ranks"][0]["step_ns"]
        # The window opens when the recorder sees the step: the steps at its borders belong to neither side.
        blocks = [statistics.mean(step_ns[at + 2:at + BLOCK - 1]) for at in range(first, len(step_ns) - BLOCK + 1, BLOCK)]
        ratios = [blocks[i] / ((blocks[i - 1] + blocks[i + 1]) / 2) for i in range(2, len(blocks) - 1, 2)]
        low, high = paired.interval(ratios)
        print(f"| {name} | ≤ {100 * target:.1f} % | {len(ratios)} | {statistics.median(blocks[1::2]) / 1e6:.1f} ms | "
              f"{share(statistics.median(ratios))} | {share(low)} … {share(high)} | {verdict(low - 1, high - 1, target)} |",
              flush=True)


def share(ratio):
    return f"{100 * (ratio - 1):+.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--profiler-every", type=int, default=1,
                        help="the two Python variants in every Nth round only (default 1)")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--within", type=int, metavar="STEPS",
                        help="instead: recording on and off within one run of so many steps")
    parser.add_argument("--quick", action="store_true", help="3 pairs of 10 steps: does it work? Decides nothing")
    parser.add_argument("--python", help="a Python whose `import torch` works")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.steps = 3, 10
    with tempfile.TemporaryDirectory() as folder:
        for ranks in options.ranks:
            (measure_within if options.within else measure)(options, ranks, pathlib.Path(folder))


if __name__ == "__main__":
    main()
